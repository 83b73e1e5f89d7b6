#include "kiln/store/safetensors/header_json.hpp"

#include "kiln/store/utf8.hpp"

namespace kiln {

void HeaderJson::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
}

bool HeaderJson::consume(char mark) {
  skip_space();
  if (at_ == text_.size() || text_[at_] != mark) return false;
  ++at_;
  return true;
}

void HeaderJson::expect(char mark) {
  if (!consume(mark)) wrong("expected '", mark, "'", at_ == text_.size() ? ", the header ends here" : "");
}

std::string HeaderJson::key() {
  std::string name = string();
  expect(':');
  return name;
}

std::string HeaderJson::string() {
  if (!consume('"')) wrong("expected a string");
  const std::size_t start = at_;
  std::string out;
  for (;;) {
    if (at_ == text_.size()) wrong("the string begun at byte ", start - 1, " has no end");
    const char letter = text_[at_++];
    if (letter == '"') break;
    if (static_cast<unsigned char>(letter) < 0x20) wrong("a control character in a string");
    if (letter == '\\') escape(out);
    else out += letter;
  }
  if (!is_utf8(out)) wrong("the string begun at byte ", start - 1, " is not UTF-8");
  return out;
}

void HeaderJson::escape(std::string& out) {
  if (at_ == text_.size()) wrong("the header ends in an escape");
  switch (text_[at_++]) {
    case '"': out += '"'; return;
    case '\\': out += '\\'; return;
    case '/': out += '/'; return;
    case 'b': out += '\b'; return;
    case 'f': out += '\f'; return;
    case 'n': out += '\n'; return;
    case 'r': out += '\r'; return;
    case 't': out += '\t'; return;
    case 'u': {
      std::uint32_t point = four_hex_digits();
      if (point >= 0xdc00 && point < 0xe000) wrong("half of a surrogate pair");
      if (point >= 0xd800 && point < 0xdc00) {  // a high surrogate: the low one must follow
        if (text_.substr(at_, 2) != "\\u") wrong("half of a surrogate pair");
        at_ += 2;
        const std::uint32_t low = four_hex_digits();
        if (low < 0xdc00 || low >= 0xe000) wrong("half of a surrogate pair");
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
      }
      return append_utf8(out, point);
    }
    default: wrong("an escape that JSON does not have");
  }
}

std::uint32_t HeaderJson::four_hex_digits() {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char digit = at_ < text_.size() ? text_[at_] : ' ';
    if (digit >= '0' && digit <= '9') value = value * 16 + static_cast<std::uint32_t>(digit - '0');
    else if (digit >= 'a' && digit <= 'f') value = value * 16 + static_cast<std::uint32_t>(digit - 'a' + 10);
    else if (digit >= 'A' && digit <= 'F') value = value * 16 + static_cast<std::uint32_t>(digit - 'A' + 10);
    else wrong("\\u needs four hexadecimal digits");
  }
  return value;
}

std::int64_t HeaderJson::number() {
  skip_space();
  const auto digit = [&] { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; };
  if (!digit()) wrong("expected a whole number");
  const std::size_t start = at_;
  std::int64_t value = 0;
  bool overflow = false;
  for (; digit(); ++at_) {
    overflow |= __builtin_mul_overflow(value, 10, &value);
    overflow |= __builtin_add_overflow(value, text_[at_] - '0', &value);
  }
  if (overflow) wrong("the number begun at byte ", start, " is over 2^63 - 1");
  if (text_[start] == '0' && at_ - start > 1) wrong("a number with a leading zero");
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E'))
    wrong("expected a whole number");
  return value;
}

void HeaderJson::finish() {
  skip_space();
  if (at_ != text_.size()) wrong("text after the header's closing brace");
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (code < 0x20) {
      out += "\\u00";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    } else {
      out += letter;
    }
  }
  out += '"';
}

}  // namespace kiln
