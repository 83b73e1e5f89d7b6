// The taps that the points of a grid read in a two-dimensional image, computed for a block of points at a time, and the
// sums over these taps for images of few channels, each of which is a plane.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// Maps coordinates to positions of elements: coordinate * scale + shift, limited to [low, high].
struct GridAxis {
  float scale, shift, low, high;
  std::int32_t size;
};

/// The four elements around each point: the left and the right one of the row above, and then those of the row below.
struct GridTaps {
  static constexpr std::int64_t kMost = 256, kTaps = 4;  // the most points, and the taps of a point
  alignas(64) std::int32_t index[kTaps * kMost];         // -1: outside of the image
  alignas(64) float weight[kTaps * kMost];               // 0 for taps outside of the image
  alignas(64) float fraction[2][kMost];                  // the fraction of the way to the right, and downwards
  alignas(64) float slope[2][kMost];                     // how many elements a point moves with each coordinate
};

/// `count` contiguous planes of `size` elements each, one after the other.
struct GridPlanes {
  std::int64_t count, size;
};

struct GridKernels {
  /// Computes the taps of `count` points. `grid` has their coordinates [count, 2], the one along the width first.
  void (*find_taps)(const GridAxis& across, const GridAxis& down, const float* grid, std::int64_t count,
                    GridTaps& taps);
  /// y[c][point] = the sum over taps of weight * x[c][index]. The channels of y are `points` elements apart.
  void (*blend)(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* x, float* y,
                std::int64_t points);
  /// x[c][index] += weight * y[c][point], for all points in order.
  void (*spread)(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* y, std::int64_t points,
                 float* x);
  /// by_weight[point][tap] = the sum over c of x[c][index] * y[c][point].
  void (*weigh)(const GridTaps& taps, std::int64_t count, GridPlanes planes, const float* x, const float* y,
                std::int64_t points, float* by_weight);
  /// Computes the gradients of the coordinates from the gradients of the weights.
  void (*find_slopes)(const GridTaps& taps, std::int64_t count, const float* by_weight, float* grid);
};
/// Returns the functions for the instruction set of this machine.
const GridKernels& grid_kernels();

}  // namespace kiln::cpu::simd
