// More ways to make a tensor of plain numbers.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// A tensor to be filled later. Kiln leaves nothing undefined: it holds zeros.
Value empty(const Shape& shape, const Device& device, DType dtype = DType::F32);
Value empty_like(const Value& x);
Value full_like(const Value& x, const Scalar& value);

/// [count]: from `start` to `end`, both included, in equal steps.
Value linspace(const Scalar& start, const Scalar& end, std::int64_t count, const Device& device,
               DType dtype = DType::F32);
/// [count]: base^start to base^end, both included, in equal ratios.
Value logspace(const Scalar& start, const Scalar& end, std::int64_t count, const Device& device, double base = 10,
               DType dtype = DType::F32);
/// Ones on the diagonal of a matrix of shape [rows, columns].
Value eye(const Shape& shape, const Device& device, DType dtype = DType::F32);

}  // namespace kiln
