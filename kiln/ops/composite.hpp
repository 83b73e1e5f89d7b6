// Helpers for the expansions of composite ops.
#pragma once
#include <algorithm>

#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::op {

/// Runs an op that has no gradient of its own; where a gradient may be needed, its expansion runs and is recorded.
template <class Op>
Values emit_differentiable(const Op& op, const Values& in) {
  const bool tracked = std::any_of(in.begin(), in.end(), [](const Value& value) { return value.tracked(); });
  return tracked && grad_enabled() ? op.expand(in) : emit_all(op, in);
}

/// Checks the number that a norm adds to a variance before the square root.
inline void require_epsilon(std::string_view op, const Value& epsilon) {
  require<ArgumentError>(epsilon.is_scalar(), op, ": epsilon must be a plain number, got ", epsilon);
  require<ArgumentError>(epsilon.scalar().to<double>() >= 0, op, ": epsilon must not be negative, got ", epsilon);
}

/// x minus its mean over `dims`, which are kept. The mean is rounded, and for an x far from zero the rounding error may
/// exceed the variation of x; so the mean of the difference is subtracted as well.
inline Value centred(const Value& x, const Dims& dims) {
  const Value near = x - mean(x, dims, true);
  return near - mean(near, dims, true);
}

inline bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }
/// The type in which sums over elements of `dtype` are computed.
inline DType wide(DType dtype) { return is_half(dtype) ? DType::F32 : dtype; }

/// Runs the op on operands in half precision, computed in float32; its results, which `infer` describes, are rounded
/// once.
template <class Op>
Values in_float32(const Op& op, Inputs in) {
  Values operands(in.begin(), in.end());
  for (Value& value : operands)
    if (value.node() && is_half(value.dtype())) value = cast(value, DType::F32);
  Values results = emit_differentiable(op, operands);
  const Descs descs = op.infer(in);
  for (int i = 0; i < descs.size(); ++i)
    results[static_cast<std::size_t>(i)] = cast(results[static_cast<std::size_t>(i)], descs[i].dtype);
  return results;
}

}  // namespace kiln::op
