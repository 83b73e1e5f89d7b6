// Scans of two tensors. Scans of one tensor are x.cumsum(), x.cumprod(), x.cummax(), ...
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// y[i] = a[i] * y[i - 1] + b[i] along `dim`, where y is 0 before its first element; operands broadcast.
template <Operand A, Operand B>
Tensor<kJoinedRank<A, B>> linear_recurrence(const A& a, const B& b, Dim dim, bool reverse = false) {
  return Typed{linear_recurrence(Value(a), Value(b), dim, reverse)};
}

}  // namespace kiln
