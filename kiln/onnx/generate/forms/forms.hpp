// How operators are written by Kiln's own functions, where ranks and kinds are known. The row of an operator names the
// function; operators that take more than that have a form here, in tables by family. A form that does not hold for a
// node (an old version's axis, an operand whose rank is free) gives nothing, and the node becomes a call of apply().
#pragma once
#include <span>

#include "kiln/onnx/generate/lowering.hpp"

namespace kiln::onnx::cpp {

struct Form {
  std::string_view op;
  Said (*form)(const Site& n);
};

std::span<const Form> elementwise_forms();
std::span<const Form> view_forms();
std::span<const Form> reduce_forms();

/// By the function of Kiln's that the node's row names.
Said form_of_function(const Site& n);
/// "x.sum(keep, 1)"
Said reduce(const Site& n, op::ReduceFn fn);

/// A statement of one expression.
Statement said(std::string text);
/// "x.name()", of floats.
Said method(const Site& n, std::string_view name);
/// "1, 2, 3"
std::string joined(const Ints& numbers);

}  // namespace kiln::onnx::cpp
