// C++ as a small tree. Nodes become trees before it is known which function a statement stands in, and what values and
// fields are called there; trees refer to those by number. print() writes a tree whose references have been replaced.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kiln/onnx/generate/text.hpp"

namespace kiln::onnx::cpp {

struct Line;

/// An expression.
struct Code {
  enum class Kind : std::uint8_t {
    Word,     // text, which may name something: "kiln::keep"
    Literal,  // text, which names nothing: "0.5f", "{1, 2}"
    Device,   // the device of the function around
    Value,    // a reference to a value of the program, by its number
    Layer,    // a reference to a layer of the program, by its number
    Struct,   // a reference to a struct, by its number
    Call,     // text(parts)
    Method,   // parts[0].text(the other parts)
    Member,   // parts[0].text
    Item,     // parts[0][number]
    Infix,    // parts[0] text parts[1]
    List,     // text{parts}
    Lambda,   // [&](text) { lines return {parts}; }
  };
  using List = std::vector<Code>;

  Kind kind = Kind::Literal;
  std::string text;
  int number = 0;
  List parts;
  std::vector<Line> lines;

  Code() = default;
  explicit Code(Kind of, std::string words = "", int which = 0);

  static Code word(std::string name);
  static Code verbatim(std::string literal);
  template <class T>
  static Code literal(const T& value);
  static Code device();
  static Code value(int number);
  static Code layer(int number);
  static Code structure(int number);
  static Code call(std::string function, List operands);
  static Code method(Code object, std::string_view name);
  static Code method(Code object, std::string_view name, List operands);
  static Code member(Code object, std::string name);
  static Code item(Code list, int index);
  static Code infix(Code left, std::string_view symbol, Code right);
  static Code list(List parts, std::string type = "");
  static Code lambda(std::string parameter, std::vector<Line> lines, List results);

  bool is_reference() const { return kind == Kind::Value || kind == Kind::Layer || kind == Kind::Struct; }
};

/// A line that declares or assigns, or a branch.
struct Line {
  std::string type = {};   // what stands before the names: "const onnx::Datum", nothing, or the head of a loop
  Code::List names = {};   // what is declared or assigned; several are a structured binding
  Code code = {};          // what they are; an empty literal declares a name without a value
  bool is_branch = false;  // on the condition `code`
  std::vector<Line> yes = {}, no = {};
};

template <class T>
Code Code::literal(const T& value) {
  return verbatim(cpp::literal(value));
}

/// Calls f(code) for every expression in `code`, the outer ones first, others as they are written.
template <class C, class F>
requires std::same_as<std::remove_const_t<C>, Code> void each_code(C& code, F&& f);
template <class L, class F>
requires std::same_as<std::remove_const_t<L>, Line> void each_code(L& line, F&& f) {
  for (auto& name : line.names) each_code(name, f);
  each_code(line.code, f);
  for (auto& inner : line.yes) each_code(inner, f);
  for (auto& inner : line.no) each_code(inner, f);
}
template <class C, class F>
requires std::same_as<std::remove_const_t<C>, Code> void each_code(C& code, F&& f) {
  f(code);
  for (auto& line : code.lines) each_code(line, f);
  for (auto& part : code.parts) each_code(part, f);
}
/// Calls f(code) for every reference in `code`.
template <class T, class F>
void each_reference(T& code, F&& f) {
  each_code(code, [&](auto& each) {
    if (each.is_reference()) f(each);
  });
}

/// The expression or a part of it has the kind.
bool contains(const Code& code, Code::Kind kind);
/// Adds the identifiers that an expression or a line names, which a variable of that name would hide.
void add_words(const Code& code, std::set<std::string>& words);
void add_words(const Line& line, std::set<std::string>& words);

std::string print(const Code& code);
std::string print(const std::vector<Line>& lines);

}  // namespace kiln::onnx::cpp
