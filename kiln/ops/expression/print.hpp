// Trees as text of a dialect. Functions that the dialect lacks are written out before what calls them, once for each
// type that they are called in.
#pragma once
#include <set>

#include "kiln/ops/expression/dialect.hpp"

namespace kiln::expr {

class Printer {
 public:
  explicit Printer(const Dialect& dialect) : dialect_(dialect) {}

  /// The tree with numbers of what `dtype` is computed in; `names` are those of its variables. It can stand anywhere in
  /// a larger expression. Throws DTypeError where supports() says no.
  std::string expression(const Tree& tree, DType dtype, std::span<const std::string> names);
  /// A call of a function with operands as they are written.
  std::string call(const Function& function, DType dtype, std::span<const std::string> operands);
  /// `condition ? yes : no`
  std::string choice(std::string_view condition, std::string_view yes, std::string_view no) const;
  /// A statement that makes a variable.
  std::string declaration(std::string_view type, std::string_view name, std::string_view value, bool changes) const;
  /// A whole number of what `dtype` is computed in, with a suffix where the dialect has one.
  std::string literal(std::string_view digits, DType dtype) const;

  /// The definitions of all functions that were called so far, in order.
  const std::string& library() const { return library_; }
  const Dialect& dialect() const { return dialect_; }

 private:
  std::string text(const Tree& tree, const Node& node, DType dtype, std::span<const std::string> names, bool inside);
  std::string operation(const Tree& tree, const Node& node, DType dtype, std::span<const std::string> names,
                        bool inside);
  std::string type(Type type, DType dtype) const;
  void statements(const std::vector<Statement>& list, const Definition& definition, const Function& function,
                  DType dtype, std::span<const std::string> names, std::string indent, std::string& out);
  void define(const Function& function, DType dtype, const std::string& name);

  const Dialect& dialect_;
  std::set<std::string, std::less<>> defined_;
  std::string library_;
};

}  // namespace kiln::expr
