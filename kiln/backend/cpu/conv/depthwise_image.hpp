// The inner loops of depthwise.cpp, for one image of up to three axes.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::conv {

struct DepthwiseShape : ThreeAxes {
  std::int64_t channels;

  explicit DepthwiseShape(const Geometry& g) : ThreeAxes(g), channels(g.in) {}
};

struct DepthwiseKernels {
  /// Computes row (z, row) of y [result..., channels] from x [sizes..., channels], weight [kernel..., channels] and bias
  /// [channels]. `finish` is the epilogue, or null.
  void (*row)(const DepthwiseShape& s, const float* x, const float* weight, const float* bias, float* y,
              const SimpleEpilogue* finish, std::int64_t z, std::int64_t row);
  /// Adds the contribution of row (z, row) of y [result..., channels] to the weight's gradient, sums [kernel...,
  /// channels].
  void (*weight_row)(const DepthwiseShape& s, const float* x, const float* y, float* sums, std::int64_t z,
                     std::int64_t row);
};
/// The functions for this processor.
const DepthwiseKernels& depthwise_kernels();

}  // namespace kiln::cpu::conv
