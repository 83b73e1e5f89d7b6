// How operators are written by Kiln's own functions, where ranks and kinds are known. The row of an operator names the
// function; operators that take more than that have a form here, in tables by family. A form that does not hold for a
// node (an old version's axis, an operand whose rank is free) gives nothing, and the node becomes a call of apply().
#pragma once
#include <span>

#include "kiln/onnx/generate/lowering.hpp"

namespace kiln::onnx::cpp {

struct Form {
  std::string_view op;
  MaybeStatement (*form)(const Site& n);
};

std::span<const Form> elementwise_forms();
std::span<const Form> view_forms();
std::span<const Form> reduce_forms();

/// The call of the function of Kiln's that the node's row names.
MaybeStatement form_of_function(const Site& n);
/// "x.sum(keep, 1)"
MaybeStatement reduce(const Site& n, op::ReduceFn fn);

/// A statement of one expression.
Statement statement_of(Code code);
/// "x.name()", of floats.
MaybeStatement method(const Site& n, std::string_view name);
Code::List literals(const Ints& numbers);

}  // namespace kiln::onnx::cpp
