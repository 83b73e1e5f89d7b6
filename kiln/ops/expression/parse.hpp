// Text to trees. The language of expressions is the part of C++ that elementwise.def is written in; functions have
// statements around them:
//
//   fn name(x: float, y) = expression;                  for numbers of the types float stands for
//   fn name(x: signed, w: word) -> bool { statements }  let, var, assignments, if, else, while, return
//   fn name(x: f64);                                    what every device that has the type brings along
//
// poly(t, a, b, c) is the polynomial (a t + b) t + c. Errors are sentences that quote the text.
#pragma once
#include <deque>
#include <span>

#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// `text` as a tree over `scope`. Throws ArgumentError for what it does not understand.
Tree parse(std::string_view text, std::span<const Variable> scope);
/// Function definitions, added to `functions`, by which calls in them are resolved. Throws ArgumentError.
void parse_functions(std::string_view text, std::deque<Function>& functions);

}  // namespace kiln::expr
