// Elements that lie in memory in another order than row by row.
#pragma once
#include "kiln/core/tensor_data.hpp"

namespace kiln {

/// The elements of `bytes` that lie `offset` + i * strides[0] + j * strides[1] + ... elements from its beginning, in
/// row-major order. All of them must lie there.
TensorData gather(std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Dims& strides,
                  std::int64_t offset);

}  // namespace kiln
