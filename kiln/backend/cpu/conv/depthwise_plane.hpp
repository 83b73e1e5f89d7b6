// The inner loops of depthwise.cpp for one channel of an image in row-major order.
#pragma once
#include <cstdint>

namespace kiln::cpu::conv {

struct PlaneShape {
  struct Axis {
    std::int64_t size, result, kernel, stride, padding, dilation;
    std::int64_t spacing = 1;  // the distance of elements of x, with zeros between them; or the stride is 1

    std::int64_t extent() const { return (size - 1) * spacing + 1; }
  };
  Axis down, across;

  /// The number of columns, `stride` apart, that are read together: including zeros of the padding, and those that a
  /// vector reads past the end.
  std::int64_t line() const {
    constexpr std::int64_t kVector = 16;
    return (across.result + (across.kernel - 1) * across.dilation / across.stride + 2 * kVector) / kVector * kVector;
  }
  std::int64_t room() const { return down.extent() * across.stride * line(); }
};

struct PlaneKernels {
  /// Computes y [result rows, columns] from x [rows, columns] and weight [kernel rows, columns]. `room` is scratch
  /// memory of room() numbers, all zeros before the first plane; it can be used for one plane after the other.
  void (*plane)(const PlaneShape& s, const float* x, const float* weight, float* room, float* y);
  /// Adds the weight's gradient for this plane to weight.
  void (*weight)(const PlaneShape& s, const float* x, const float* y, float* room, float* weight);
};
/// The functions for this processor.
const PlaneKernels& plane_kernels();

}  // namespace kiln::cpu::conv
