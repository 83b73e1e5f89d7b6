#include "kiln/onnx/generate/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kiln::onnx::cpp {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }
char lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

// C++'s keywords and macros of common headers, and what generated code says itself.
// clang-format off
const std::set<std::string_view>& reserved() {
  static const std::set<std::string_view> words = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit",
      "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
      "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
      "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
      "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
      "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
      "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
      "wchar_t", "while", "xor", "xor_eq", "assert", "errno", "stdin", "stdout", "stderr", "EOF", "NULL", "NAN",
      "INFINITY", "linux", "unix", "main", "std", "kiln", "nn", "onnx", "data", "op", "forward", "init", "device", "load",
      "run", "in", "made", "out", "block", "result", "results", "path", "end", "s", "keep", "defined",
      "import", "module", "final", "override", "abs", "div", "y0", "y1", "yn", "j0", "j1", "jn", "gamma", "signal", "time",
      "Device", "Tensor", "Float", "Int", "Bool", "Spatial", "Shape", "Value", "DType"};
  return words;
}
// clang-format on

template <class T>
std::string shortest(T number, const char* limits) {
  if (std::isnan(number)) return text("std::numeric_limits<", limits, ">::quiet_NaN()");
  if (std::isinf(number)) return text(number < 0 ? "-" : "", "std::numeric_limits<", limits, ">::infinity()");
  char digits[40];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number);
  std::string out(digits, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

constexpr std::size_t kColumns = 120;

// The index behind the last comma within the columns, or else behind the first one; 0 where there is none.
std::size_t place_to_break(const std::string& line, std::size_t from) {
  std::size_t cut = 0;
  bool quoted = false;
  for (std::size_t i = from; i + 1 < line.size() && (i < kColumns || !cut); ++i) {
    if (quoted && line[i] == '\\') ++i;
    else if (line[i] == '"') quoted = !quoted;
    else if (!quoted && line[i] == ',' && line[i + 1] == ' ') cut = i + 1;
  }
  return cut;
}

}  // namespace

std::string identifier(std::string_view name, std::string_view otherwise) {
  std::string out;
  for (const char c : name) {
    if (is_letter(c) || is_digit(c)) out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
    if (out.size() == 60) break;
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty()) out = otherwise;
  if (is_digit(out.front())) out = text(otherwise, '_', out);
  // Names are written in snake_case, as in Kiln; names in capitals may be macros.
  std::string snake;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool begins = is_upper(out[i]) && i > 0 && out[i - 1] != '_' && !is_upper(out[i - 1]);
    if (begins && !is_digit(out[i - 1])) snake += '_';
    snake += lower(out[i]);
  }
  if (reserved().count(snake)) snake += '_';
  return snake;
}

std::string type_identifier(std::string_view name, std::string_view otherwise) {
  std::string out;
  bool begins = true;
  for (const char c : identifier(name, otherwise)) {
    if (c == '_') begins = true;
    else out += begins ? upper(c) : c, begins = is_digit(c);
  }
  if (out.empty() || is_digit(out.front())) out = text(otherwise, out);
  return reserved().count(out) ? out + "Model" : out;
}

std::string unique(std::string name, std::set<std::string>& taken) {
  std::string made = name;
  const char* const between = is_digit(name.back()) ? "_" : "";
  const bool is_type = is_upper(name.front());
  for (int i = 2; !taken.insert(made).second; ++i) made = text(name, is_type ? between : "_", i);
  return made;
}

std::string literal(std::string_view words) {
  std::string out = "\"";
  for (const char c : words) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += {'\\', c};
    else if (c == '?') out += "\\?";  // no trigraphs
    else if (byte >= 0x20 && byte < 0x7f) out += c;
    else
      out += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + ((byte >> 3) & 7)),
              static_cast<char>('0' + (byte & 7))};
  }
  out += '"';
  // A pointer to letters ends at the first zero.
  return words.find('\0') == std::string_view::npos ? out : text("std::string(", out, ", ", words.size(), ')');
}

std::string literal(std::int64_t number) {
  if (number == std::numeric_limits<std::int64_t>::min()) return "std::numeric_limits<std::int64_t>::min()";
  if (number == std::numeric_limits<std::int64_t>::max()) return "std::numeric_limits<std::int64_t>::max()";
  return text(number);
}
std::string literal(float number) {
  const std::string digits = shortest(number, "float");
  return std::isfinite(number) ? digits + 'f' : digits;
}
std::string literal(double number) { return shortest(number, "double"); }

std::string braces(const Ints& numbers) {
  std::string out = "{";
  for (const std::int64_t number : numbers) out += text(out.size() > 1 ? ", " : "", literal(number));
  return out + '}';
}

std::string remark(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 80)) {
    const bool plain = is_letter(c) || is_digit(c) || std::string_view(" _./:-,[]()").find(c) != std::string_view::npos;
    out += plain ? c : '?';
  }
  return out;
}

std::string wrapped(const std::string& code) {
  std::string out;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    std::string line = code.substr(at, end - at);
    at = end + 1;
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool comment = line.compare(begin, 2, "//") == 0;
    for (std::size_t from = begin; line.size() > kColumns && !comment; from = begin + 4) {
      const std::size_t cut = place_to_break(line, from);
      if (!cut) break;
      out += line.substr(0, cut) + '\n';
      line = std::string(begin + 4, ' ') + line.substr(cut + 1);
    }
    out += line + '\n';
  }
  return out;
}

std::string indented(const std::string& code, int letters) {
  std::string out;
  bool begins = true;
  for (const char c : code) {
    if (begins && c != '\n') out.append(static_cast<std::size_t>(letters), ' ');
    out += c;
    begins = c == '\n';
  }
  return out;
}

}  // namespace kiln::onnx::cpp
