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
  std::int64_t held;  // rows of x that there are at a time, row i in place i % held; all, but in a chain
};

/// Row (z, row) of y [result..., channels]; x [sizes..., channels], weight [kernel..., channels], bias [channels];
/// `finish` is what is left to do to y, or null.
void depthwise_row(const DepthwiseShape& s, const float* x, const float* weight, const float* bias, float* y,
                   const Finish* finish, std::int64_t z, std::int64_t row);
/// Adds what row (z, row) of y [result..., channels] has of the gradient of the weight to sums [kernel..., channels].
void depthwise_weight_row(const DepthwiseShape& s, const float* x, const float* y, float* sums, std::int64_t z,
                          std::int64_t row);

}  // namespace kiln::cpu::conv
