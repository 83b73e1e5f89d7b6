// Kiln's tensors as ATen's, and back. Both share the memory: an operand is a view of Kiln's block, and a result that ATen
// computed keeps the block that ATen got from Kiln's pool (allocator.cpp).
#pragma once
#include <ATen/ATen.h>

#include <vector>

#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::libtorch {

/// Whether ATen computes in the element type: it has no unsigned integers of 16 bits and more.
bool has_type(DType dtype);
at::ScalarType type_of(DType dtype);
/// The type that ops compute in, as Kiln's reference does: float32 for halves, int64 for integers and booleans.
at::ScalarType computed_in(DType dtype);

/// A tensor operand in place, with its strides. One that runs backwards is copied, as ATen has no negative strides.
at::Tensor tensor(const Value& value);
/// A tensor operand in the type that ops compute in.
at::Tensor computed(const Value& value);
/// A plain number as a tensor without dimensions, converted to `dtype` by Kiln's rules.
at::Tensor number(const Scalar& scalar, DType dtype);
/// A tensor, or a number beside tensors of type `dtype`, in the type that ops compute in.
at::Tensor operand(const Value& value, DType dtype);
/// An operand that may be absent, in row-major order: some kernels of ATen read no strides of such operands.
c10::optional<at::Tensor> optional(const Value& value);

/// The result of a call: x, cast to the type of `result`. It keeps the memory of x if that is the pool's and x is the
/// only tensor in it; otherwise x is copied.
void give(Value& result, const at::Tensor& x);

template <class List>
std::vector<std::int64_t> to_vector(const List& list) {
  return {list.begin(), list.end()};
}

}  // namespace kiln::libtorch
