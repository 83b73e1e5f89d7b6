// Weighted sums of pixels whose channels are contiguous.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// The elements that one point reads: `count` pixels of `channels` channels each.
struct PointTaps {
  const std::int64_t* index;  // the index of each pixel; one outside of [0, size) is skipped
  const float* weight;        // null for weigh()
  std::int64_t count, size;
};

struct PointKernels {
  /// result[c] = the sum over taps of weight * x[index][c], for c < count. Pixels are `channels` elements apart.
  void (*blend)(const PointTaps& taps, const float* x, std::int64_t channels, std::int64_t count, float* result);
  /// x[index][c] += weight * y[c] for all taps in order, for c < count.
  void (*spread)(const PointTaps& taps, const float* y, std::int64_t channels, std::int64_t count, float* x);
  /// result[tap] = the sum over c of x[index][c] * y[c].
  void (*weigh)(const PointTaps& taps, const float* x, const float* y, std::int64_t channels, float* result);
};
/// Returns the functions for the instruction set of this machine.
const PointKernels& point_kernels();

}  // namespace kiln::cpu::simd
