// Weighted sums of pixels whose channels lie side by side.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// The elements that one point reads: `count` pixels of `channels` channels each.
struct PointTaps {
  const std::int64_t* index;  // of each pixel; outside of [0, size) it counts for nothing
  const float* weight;        // absent for weigh_point
  std::int64_t count, size;
};

/// result[c] = the sum over taps of weight * x[index][c], for c < count; pixels lie `channels` apart.
void blend_point(const PointTaps& taps, const float* x, std::int64_t channels, std::int64_t count, float* result);
/// x[index][c] += weight * y[c], tap after tap.
void spread_point(const PointTaps& taps, const float* y, std::int64_t channels, std::int64_t count, float* x);
/// result[tap] = the sum over c of x[index][c] * y[c].
void weigh_point(const PointTaps& taps, const float* x, const float* y, std::int64_t channels, float* result);

}  // namespace kiln::cpu::simd
