#include "kiln/onnx/generate/code.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::onnx::cpp {

Code::Code(Kind of, std::string words, int which) : kind(of), text(std::move(words)), number(which) {}

Code Code::word(std::string name) { return Code(Kind::Word, std::move(name)); }
Code Code::verbatim(std::string literal) { return Code(Kind::Literal, std::move(literal)); }
Code Code::device() { return Code(Kind::Device); }
Code Code::value(int number) { return Code(Kind::Value, "", number); }
Code Code::layer(int number) { return Code(Kind::Layer, "", number); }
Code Code::structure(int number) { return Code(Kind::Struct, "", number); }

namespace {

Code with_parts(Code code, Code::List parts) {
  code.parts = std::move(parts);
  return code;
}

}  // namespace

Code Code::call(std::string function, List operands) {
  return with_parts(Code(Kind::Call, std::move(function)), std::move(operands));
}
Code Code::method(Code object, std::string_view name) { return method(std::move(object), name, {}); }
Code Code::method(Code object, std::string_view name, List operands) {
  operands.insert(operands.begin(), std::move(object));
  return with_parts(Code(Kind::Method, std::string(name)), std::move(operands));
}
Code Code::member(Code object, std::string name) {
  return with_parts(Code(Kind::Member, std::move(name)), {std::move(object)});
}
Code Code::item(Code list, int index) { return with_parts(Code(Kind::Item, "", index), {std::move(list)}); }
Code Code::infix(Code left, std::string_view symbol, Code right) {
  return with_parts(Code(Kind::Infix, std::string(symbol)), {std::move(left), std::move(right)});
}
Code Code::list(List parts, std::string type) {
  return with_parts(Code(Kind::List, std::move(type)), std::move(parts));
}
Code Code::lambda(std::string parameter, std::vector<Line> lines, List results) {
  Code code = with_parts(Code(Kind::Lambda, std::move(parameter)), std::move(results));
  code.lines = std::move(lines);
  return code;
}

bool contains(const Code& code, Code::Kind kind) {
  bool found = false;
  each_code(code, [&](const Code& each) { found = found || each.kind == kind; });
  return found;
}

namespace {

void add_identifiers(const std::string& text, std::set<std::string>& words) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::string word;
  for (const char c : text + ' ') {
    if (is_word(c)) {
      word += c;
      continue;
    }
    if (!word.empty()) words.insert(std::exchange(word, {}));
  }
}

std::string print_list(const Code::List& parts, std::size_t first = 0) {
  std::string out;
  for (std::size_t i = first; i < parts.size(); ++i) out += text(i > first ? ", " : "", print(parts[i]));
  return out;
}

// An operand of an operator, or the object before a dot: an infix expression needs parentheses there.
std::string print_operand(const Code& code) {
  return code.kind == Code::Kind::Infix ? text('(', print(code), ')') : print(code);
}

std::string print_line(const Line& line) {
  if (line.is_branch)
    return text("if (", print(line.code), ") {\n", indented(print(line.yes), 2), "} else {\n",
                indented(print(line.no), 2), "}\n");
  const std::string names = line.names.size() == 1 ? print(line.names[0]) : text('[', print_list(line.names), ']');
  // The constructor of the declared type.
  if (line.code.kind == Code::Kind::Call && line.type == "const " + line.code.text)
    return text(line.type, ' ', names, '(', print_list(line.code.parts), ");\n");
  const std::string value = print(line.code);
  return text(line.type, line.type.empty() ? "" : " ", names, value.empty() ? "" : " = ", value, ";\n");
}

}  // namespace

void add_words(const Code& code, std::set<std::string>& words) {
  using enum Code::Kind;
  if (code.kind == Word || code.kind == Call || code.kind == List || code.kind == Lambda)
    add_identifiers(code.text, words);
  for (const Code& part : code.parts) add_words(part, words);
  for (const Line& line : code.lines) add_words(line, words);
}
void add_words(const Line& line, std::set<std::string>& words) {
  add_identifiers(line.type, words);
  add_words(line.code, words);
  for (const std::vector<Line>* lines : {&line.yes, &line.no})
    for (const Line& inner : *lines) add_words(inner, words);
}

std::string print(const Code& code) {
  switch (code.kind) {
    case Code::Kind::Word:
    case Code::Kind::Literal: return code.text;
    case Code::Kind::Device: return "device";
    case Code::Kind::Call: return text(code.text, '(', print_list(code.parts), ')');
    case Code::Kind::Method:
      return text(print_operand(code.parts[0]), '.', code.text, '(', print_list(code.parts, 1), ')');
    case Code::Kind::Member: return text(print_operand(code.parts[0]), '.', code.text);
    case Code::Kind::Item: return text(print_operand(code.parts[0]), '[', code.number, ']');
    case Code::Kind::Infix:
      return text(print_operand(code.parts[0]), ' ', code.text, ' ', print_operand(code.parts[1]));
    case Code::Kind::List: return text(code.text, '{', print_list(code.parts), '}');
    case Code::Kind::Lambda:
      return text("[&](", code.text, ") -> std::vector<onnx::Datum> {\n",
                  indented(text(print(code.lines), "return {", print_list(code.parts), "};\n"), 2), '}');
    default: break;
  }
  KILN_CHECK(!code.is_reference());  // replaced() puts names in their place
  return {};
}
std::string print(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) out += print_line(line);
  return out;
}

}  // namespace kiln::onnx::cpp
