// Convolution: convolutions and their adjoints as a library of the device receives them.
#pragma once
#include <cstdint>

#include "kiln/backend/gpu/borrowed.hpp"
#include "kiln/core/dtype.hpp"

namespace kiln::gpu {

/// Describes y [batch, out, sizes...] = x [batch, in, sizes...] * weight [out, in / groups, kernel...] (op::Conv), or
/// one of its adjoints. All are of `dtype`; halves are summed in float32.
struct Convolution {
  // Which of y, x and weight is computed from the other two.
  enum class Kind : std::uint8_t { Forward, DataGradient, WeightGradient };
  using Tensor = BorrowedTensor;

  Kind kind = Kind::Forward;
  DType dtype = DType::F32;
  Tensor x{}, weight{}, y{};
  Spatial stride{}, padding{}, padding_after{}, dilation{};  // padding before the first and after the last element
};

}  // namespace kiln::gpu
