// The inner loops of depthwise.hpp, for one image of up to three axes.
#pragma once
#include <array>
#include <cstdint>

#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::conv {

struct DepthwiseShape {
  using Axes = std::array<std::int64_t, 3>;
  std::int64_t channels;
  Axes sizes, result, kernel, stride, padding, dilation;
  std::int64_t held;  // the rows of x in memory; row i is in slot i % held. All rows, except in a chain
};

/// Computes row (z, row) of y [result..., channels] from x [sizes..., channels], weight [kernel..., channels] and bias
/// [channels]. `finish` is the epilogue, or null.
void depthwise_row(const DepthwiseShape& s, const float* x, const float* weight, const float* bias, float* y,
                   const SimpleEpilogue* finish, std::int64_t z, std::int64_t row);
/// Adds the contribution of row (z, row) of y [result..., channels] to the weight's gradient, sums [kernel...,
/// channels].
void depthwise_weight_row(const DepthwiseShape& s, const float* x, const float* y, float* sums, std::int64_t z,
                          std::int64_t row);

}  // namespace kiln::cpu::conv
