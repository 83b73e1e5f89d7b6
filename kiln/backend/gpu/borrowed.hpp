// BorrowedTensor: an operand as a library of the device receives it.
#pragma once
#include <cstddef>

#include "kiln/core/shape.hpp"

namespace kiln::gpu {

struct BorrowedTensor {
  std::byte* data = nullptr;
  Shape sizes{};
  Dims strides{};  // in elements
};

}  // namespace kiln::gpu
