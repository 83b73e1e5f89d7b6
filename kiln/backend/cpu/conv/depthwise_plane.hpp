// The inner loops of depthwise.hpp for one channel of an image whose rows lie side by side.
#pragma once
#include <cstdint>

namespace kiln::cpu::conv {

struct PlaneShape {
  struct Axis {
    std::int64_t size, result, kernel, stride, padding, dilation;
  };
  Axis down, across;

  /// Columns `stride` apart that are read side by side, zeros of the padding among them, and what a vector reads behind.
  std::int64_t line() const {
    constexpr std::int64_t kVector = 16;
    return (across.result + (across.kernel - 1) * across.dilation / across.stride + 2 * kVector) / kVector * kVector;
  }
  std::int64_t room() const { return down.size * across.stride * line(); }
};

/// y [result rows, columns] of x [rows, columns] and weight [kernel rows, columns]. `room` has room() numbers, all zeros
/// before the first plane, and serves one after the other.
void depthwise_plane(const PlaneShape& s, const float* x, const float* weight, float* room, float* y);

}  // namespace kiln::cpu::conv
