#include <algorithm>
#include <array>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::cpu::reference {
namespace {

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

/// Input and result are whole shapes [batch, channels, sizes...].
Axes make_axes(const op::Conv& conv, const Shape& input, const Shape& result, const Spatial& kernel) {
  Axes axes;
  const int count = kernel.size();
  for (int i = 0; i < count; ++i)
    axes[static_cast<std::size_t>(3 - count + i)] = {.input = input[i + 2],
                                                     .result = result[i + 2],
                                                     .kernel = kernel[i],
                                                     .stride = conv.stride[i],
                                                     .padding = conv.padding[i],
                                                     .dilation = conv.dilation[i]};
  return axes;
}

std::int64_t input_size(const Axes& axes) { return axes[0].input * axes[1].input * axes[2].input; }
std::int64_t result_size(const Axes& axes) { return axes[0].result * axes[1].result * axes[2].result; }
std::int64_t kernel_size(const Axes& axes) { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }

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

Spatial spatial_of(const Shape& shape) { return Spatial(shape.begin() + 2, shape.end()); }

/// Visits the products of a convolution of x [batch, in, sizes...] to y [batch, out, sizes...] by weight
/// [out, in / groups, kernel...].
class Products {
 public:
  Products(const op::Conv& conv, const Shape& x, const Shape& y, const Spatial& kernel)
      : axes_(make_axes(conv, x, y, kernel)), batch_(x[0]), in_(x[1]), out_(y[1]), groups_(conv.groups) {}

  /// The number of elements of y in one channel of an image.
  std::int64_t area() const { return result_size(axes_); }

  std::int64_t batch() const { return batch_; }

  /// Those of image n.
  template <class F>
  void operator()(std::int64_t n, F&& f) const {
    const std::int64_t xs = input_size(axes_), ys = area(), ks = kernel_size(axes_), inner = in_ / groups_;
    for (std::int64_t o = 0; o < out_; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t channel = o / (out_ / groups_) * inner + i;
        const std::int64_t x = (n * in_ + channel) * xs, weight = (o * inner + i) * ks, y = (n * out_ + o) * ys;
        each_tap(axes_,
                 [&](std::int64_t k, std::int64_t from, std::int64_t to) { f(Places{x + from, weight + k, y + to}); });
      }
  }
  template <class F>
  void operator()(F&& f) const {
    for (std::int64_t n = 0; n < batch_; ++n) (*this)(n, f);
  }

 private:
  Axes axes_;
  std::int64_t batch_, in_, out_, groups_;
};

}  // namespace

template <>
void run(const op::Conv& op, Call call) {
  using Slot = op::Conv::Slot;
  const Value &x = call.in[Slot::x], &weight = call.in[Slot::weight];
  const Shape& shape = call.out[0].shape();
  const Products products(op, x.shape(), shape, spatial_of(weight.shape()));
  const auto start = [&](auto& sums) {
    if (call.in.size() <= Slot::bias || call.in[Slot::bias].empty()) return;
    const RowMajor<double> bias(read(call.in[Slot::bias]));
    for (std::int64_t i = sums.first(); i < sums.first() + sums.size(); ++i)
      sums[i] = bias[i / products.area() % shape[1]];
  };
  sum_products<kWeight, kX, kY>(call, weight, x, products.batch(), products, start);
}

template <>
void run(const op::ConvTranspose& op, Call call) {
  using Slot = op::ConvTranspose::Slot;
  const Value &y = call.in[Slot::y], &weight = call.in[Slot::weight];
  const Products products(op.conv, call.out[0].shape(), y.shape(), spatial_of(weight.shape()));
  sum_products<kWeight, kY, kX>(call, weight, y, products.batch(), products, [](auto&) {});
}

template <>
void run(const op::ConvWeightGrad& op, Call call) {
  using Slot = op::ConvWeightGrad::Slot;
  const Value &x = call.in[Slot::x], &y = call.in[Slot::y];
  sum_products<kY, kX, kWeight>(call, y, x, Products(op.conv, x.shape(), y.shape(), op.kernel));
}

}  // namespace kiln::cpu::reference
