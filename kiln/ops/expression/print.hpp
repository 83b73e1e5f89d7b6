// Prints trees as text of a dialect. Functions that the dialect lacks are defined before their callers, once for each
// type in which they are called.
#pragma once
#include <set>

#include "kiln/ops/expression/dialect.hpp"

namespace kiln::expr {

class Printer {
 public:
  explicit Printer(const Dialect& dialect) : dialect_(dialect) {}

  /// Prints the tree with numbers of the type that `dtype` is computed in; `names` are those of its variables. The
  /// result can be part of a larger expression. Throws DTypeError where supports() returns false.
  std::string expression(const Tree& tree, DType dtype, std::span<const std::string> names);
  /// Prints a call of a function; the operands are printed already.
  std::string call(const Function& function, DType dtype, std::span<const std::string> operands);
  /// `condition ? yes : no`
  std::string choice(std::string_view condition, std::string_view yes, std::string_view no) const;
  /// Prints a statement that declares a variable.
  std::string declaration(std::string_view type, std::string_view name, std::string_view value, bool changes) const;
  /// Prints an integer of the type that `dtype` is computed in, with a suffix where the dialect has one.
  std::string literal(std::string_view digits, DType dtype) const;

  /// The definitions of all functions that were called so far, in order.
  const std::string& library() const { return library_; }
  const Dialect& dialect() const { return dialect_; }

 private:
  std::string text(const Tree& tree, const Node& node, DType dtype, std::span<const std::string> names, bool inside);
  std::string operation(const Tree& tree, const Node& node, DType dtype, std::span<const std::string> names,
                        bool inside);
  std::string type(Type type, DType dtype) const;
  std::string declared_type(Type type, DType dtype) const;
  void statements(const std::vector<Statement>& list, const Definition& definition, const Function& function,
                  DType dtype, std::span<const std::string> names, std::string indent, std::string& out);
  void define(const Function& function, DType dtype, const std::string& name);

  const Dialect& dialect_;
  std::set<std::string, std::less<>> defined_;
  std::string library_;
};

}  // namespace kiln::expr
