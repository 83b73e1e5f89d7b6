// Elements that are not stored in row-major order.
#pragma once
#include "kiln/core/tensor_data.hpp"

namespace kiln {

/// Returns, in row-major order, the elements of `bytes` at offsets `offset` + i * strides[0] + j * strides[1] + ...,
/// counted in elements. All of them must be within `bytes`.
TensorData gather(std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Dims& strides,
                  std::int64_t offset);

}  // namespace kiln
