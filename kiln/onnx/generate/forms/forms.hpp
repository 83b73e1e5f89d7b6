// How Kiln says operators by itself, where ranks and kinds are known: a row each, in tables by family. A form that does not
// hold for a node (an old version's axis, an operand whose rank is free) gives nothing, and the node becomes a call of
// apply().
#pragma once
#include <span>

#include "kiln/onnx/generate/lowering.hpp"

namespace kiln::onnx::cpp {

struct Form {
  std::string_view op;
  Said (*form)(const Site& n);
  std::string_view method = {};  // in place of a form: one of floats, without options
};

std::span<const Form> elementwise_forms();
std::span<const Form> view_forms();
std::span<const Form> reduce_forms();

/// A statement of one expression.
Statement said(std::string text);
/// "x.name()", of floats.
Said method(const Site& n, std::string_view name);
/// "1, 2, 3"
std::string joined(const Ints& numbers);

}  // namespace kiln::onnx::cpp
