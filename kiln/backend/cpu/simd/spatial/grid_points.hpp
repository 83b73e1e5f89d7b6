// What the points of a grid read of an image in two dimensions, a block of points at a time, and the sums over images of
// few channels, whose planes lie one after the other.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// From coordinates to elements: coordinate * scale + shift, kept between `low` and `high`.
struct GridAxis {
  float scale, shift, low, high;
  std::int32_t size;
};

/// The four elements around each point: of the row above the one on the left and the one on the right, then below.
struct GridTaps {
  static constexpr std::int64_t kMost = 256, kTaps = 4;  // points
  alignas(64) std::int32_t index[kTaps * kMost];         // -1: outside
  alignas(64) float weight[kTaps * kMost];               // 0 there
  alignas(64) float fraction[2][kMost];                  // of the way to the right, and downwards
  alignas(64) float slope[2][kMost];                     // elements that a point moves with its coordinates
};

/// A plane's elements lie side by side, and planes one after the other.
struct GridPlanes {
  std::int64_t count, size;
};

/// Taps of `count` points; `grid` has their coordinates, that along the width first.
void find_grid_taps(const GridAxis& across, const GridAxis& down, const float* grid, std::int64_t count,
                    GridTaps& taps);
/// y[c][point] = the sum over taps of weight * x[c][index]; channels of y lie `points` apart.
void blend_planes(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* x, float* y,
                  std::int64_t points);
/// x[c][index] += weight * y[c][point], point after point.
void spread_planes(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* y, std::int64_t points,
                   float* x);
/// by_weight[point][tap] = the sum over c of x[c][index] * y[c][point].
void weigh_planes(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* x, const float* y,
                  std::int64_t points, float* by_weight);
/// The gradients of the coordinates from those of the weights.
void find_grid_slopes(const GridTaps& taps, std::int64_t count, const float* by_weight, float* grid);

}  // namespace kiln::cpu::simd
