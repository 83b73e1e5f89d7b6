// Parses text to trees. The language of expressions is the subset of C++ that elementwise.def is written in; functions
// add statements:
//
//   fn name(x: float, y) = expression;                  for all types of numbers that `float` stands for
//   fn name(x: signed, w: word) -> bool { statements }  let, var, assignments, if, else, while, return
//   fn name(x: f64);                                    provided by every device that has the type
//
// poly(t, a, b, c) is the polynomial (a t + b) t + c. Errors are sentences that quote the text.
#pragma once
#include <deque>
#include <span>

#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// Parses `text` as a tree over `scope`. Throws ArgumentError for text that it does not understand.
Tree parse(std::string_view text, std::span<const Variable> scope);
/// Parses function definitions and adds them to `functions`, in which calls are looked up. Throws ArgumentError.
void parse_functions(std::string_view text, std::deque<Function>& functions);

}  // namespace kiln::expr
