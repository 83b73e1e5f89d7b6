// The geometry that convolution and pooling share: windows that slide over up to three spatial dimensions.
#pragma once
#include <algorithm>
#include <array>

#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::reference {

/// One spatial dimension: element k of the window at result o covers element o * stride - padding + k * dilation.
struct Axis {
  std::int64_t input = 1, result = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;

  /// The results [first, last) at which element k of the window lies inside the input.
  struct Span {
    std::int64_t first, last;
  };
  Span inside(std::int64_t k) const {
    const std::int64_t shift = padding - k * dilation;  // o * stride - shift lies in [0, input)
    const std::int64_t last = input + shift <= 0 ? 0 : (input + shift - 1) / stride + 1;
    return {shift <= 0 ? 0 : (shift + stride - 1) / stride, std::min(last, result)};
  }
  /// The elements [first, last) of the window that lie inside the input at any result; the others may be very many.
  Span taps() const {
    const std::int64_t lowest = padding - (result - 1) * stride;
    return {lowest <= 0 ? 0 : (lowest + dilation - 1) / dilation,
            std::min(kernel, (input + padding - 1) / dilation + 1)};
  }
};

/// Depth, height, width; missing ones have size 1.
using Axes = std::array<Axis, 3>;

/// `options` has stride, padding and dilation (op::Conv, op::Window); input and result are whole shapes
/// [batch, channels, sizes...].
template <class Options>
Axes make_axes(const Options& options, const Shape& input, const Shape& result, const Spatial& kernel) {
  Axes axes;
  const int count = kernel.size();
  for (int i = 0; i < count; ++i)
    axes[static_cast<std::size_t>(3 - count + i)] = {.input = input[i + 2],
                                                     .result = result[i + 2],
                                                     .kernel = kernel[i],
                                                     .stride = options.stride[i],
                                                     .padding = options.padding[i],
                                                     .dilation = options.dilation[i]};
  return axes;
}

inline std::int64_t input_size(const Axes& axes) { return axes[0].input * axes[1].input * axes[2].input; }
inline std::int64_t result_size(const Axes& axes) { return axes[0].result * axes[1].result * axes[2].result; }
inline std::int64_t kernel_size(const Axes& axes) { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }

/// Calls f(k, x, y) wherever element k of the window at result y covers input x (all of them flat indices);
/// k ascends slowest, then y.
template <class F>
void each_tap(const Axes& axes, F&& f) {
  const auto& [depth, height, width] = axes;
  const auto kzs = depth.taps(), kys = height.taps(), kxs = width.taps();
  for (std::int64_t kz = kzs.first; kz < kzs.last; ++kz)
    for (std::int64_t ky = kys.first; ky < kys.last; ++ky)
      for (std::int64_t kx = kxs.first; kx < kxs.last; ++kx) {
        const std::int64_t k = (kz * height.kernel + ky) * width.kernel + kx;
        const auto zs = depth.inside(kz), ys = height.inside(ky), xs = width.inside(kx);
        for (std::int64_t z = zs.first; z < zs.last; ++z)
          for (std::int64_t y = ys.first; y < ys.last; ++y) {
            const std::int64_t z_in = z * depth.stride - depth.padding + kz * depth.dilation;
            const std::int64_t y_in = y * height.stride - height.padding + ky * height.dilation;
            const std::int64_t input = (z_in * height.input + y_in) * width.input - width.padding + kx * width.dilation;
            const std::int64_t result = (z * height.result + y) * width.result;
            for (std::int64_t x = xs.first; x < xs.last; ++x) f(k, input + x * width.stride, result + x);
          }
      }
}

}  // namespace kiln::cpu::reference
