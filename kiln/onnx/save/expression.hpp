// Scalar expressions as nodes: how a row of elementwise.def is written that ONNX has no operator for.
#pragma once
#include "kiln/onnx/save/writing.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::onnx {

/// Why a tree over elements of `dtype` cannot be written in a version of the operator set; empty where it can: functions
/// that ONNX lacks and that are defined by loops.
std::string why_not(const expr::Tree& tree, DType dtype, int opset);

/// The tree's value as the name of a result; variables are `operands`.
std::string write_tree(Writing& out, const expr::Tree& tree, const Strings& operands, DType dtype);

}  // namespace kiln::onnx
