// Recurrent layers step by step, in terms of other ops: run by a backend without a kernel, and recorded where a
// gradient must itself be differentiable.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/sequence/recurrent_ops.hpp"

namespace kiln::op {

/// The number of values that a time step keeps per element of the hidden state (RecurrentLayer's last result).
constexpr std::int64_t kept_of(const RecurrentCell& cell) {
  if (cell.kind == RecurrentKind::Lstm) return 5;
  return gates_of(cell.kind) + (cell.reset_after ? 1 : 0);
}

/// The results of the ops, for operands in float32 or float64.
Values steps_forward(const RecurrentLayer& layer, Inputs in);
Values steps_backward(const RecurrentLayerGrad& layer, Inputs in);

}  // namespace kiln::op
