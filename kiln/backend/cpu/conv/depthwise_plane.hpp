// The inner loops of depthwise.hpp for one channel of an image whose rows lie side by side.
#pragma once
#include <cstdint>

namespace kiln::cpu::conv {

struct PlaneShape {
  struct Axis {
    std::int64_t size, result, kernel, stride, padding, dilation;
    std::int64_t spacing = 1;  // from one element of x to the next, between which there are zeros; or the stride is 1

    std::int64_t extent() const { return (size - 1) * spacing + 1; }
  };
  Axis down, across;

  /// Columns `stride` apart that are read side by side, zeros of the padding among them, and what a vector reads behind.
  std::int64_t line() const {
    constexpr std::int64_t kVector = 16;
    return (across.result + (across.kernel - 1) * across.dilation / across.stride + 2 * kVector) / kVector * kVector;
  }
  std::int64_t room() const { return down.extent() * across.stride * line(); }
};

/// y [result rows, columns] of x [rows, columns] and weight [kernel rows, columns]. `room` has room() numbers, all zeros
/// before the first plane, and serves one after the other.
void depthwise_plane(const PlaneShape& s, const float* x, const float* weight, float* room, float* y);

/// weight += the sums of products that its adjoint is made of.
void depthwise_plane_weight(const PlaneShape& s, const float* x, const float* y, float* room, float* weight);

}  // namespace kiln::cpu::conv
