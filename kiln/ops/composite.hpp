// What the expansions of composite ops share.
#pragma once
#include <algorithm>

#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::op {

/// Runs an op that has no gradient of its own; where one may be asked for, what it is made of runs and is recorded.
template <class Op>
Values emit_differentiable(const Op& op, const Values& in) {
  const bool tracked = std::any_of(in.begin(), in.end(), [](const Value& value) { return value.tracked(); });
  return tracked && grad_enabled() ? op.expand(in) : emit_all(op, in);
}

/// What a norm adds to a variance before the root.
inline void require_epsilon(std::string_view op, const Value& epsilon) {
  require<ArgumentError>(epsilon.is_scalar(), op, ": epsilon must be a plain number, got ", epsilon);
  require<ArgumentError>(epsilon.scalar().to<double>() >= 0, op, ": epsilon must not be negative, got ", epsilon);
}

/// x less its mean over `dims`, which stay. The mean is rounded, and far from zero what that leaves may be more than x
/// varies by: it is taken away as well.
inline Value centred(const Value& x, const Dims& dims) {
  const Value near = x - mean(x, dims, true);
  return near - mean(near, dims, true);
}

inline bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }
/// What sums over elements of `dtype` are kept in.
inline DType wide(DType dtype) { return is_half(dtype) ? DType::F32 : dtype; }

/// The op of operands in half precision, computed in float32; its results, which `infer` describes, are rounded once.
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
