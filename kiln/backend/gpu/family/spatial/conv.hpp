// Convolutions by our own kernels: what the three ops have in common. They walk over the same products x * weight -> y, and
// differ in which of the three they sum into.
#pragma once
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/product/product.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::gpu::family {

enum class Convolved : std::uint8_t { Y, X, Weight };

/// x [batch, groups in, sizes...], weight [groups out, in, kernel...] and y [batch, groups out, result sizes...] of one of
/// the three ops, of which one is its result. The weight lies dense, in row-major order or its channels side by side.
struct Convolution {
  Convolved result;
  Array x{}, weight{}, y{};
  const std::byte* bias = nullptr;
  std::int64_t groups = 1;
  Spatial stride{}, padding{}, dilation{};
  bool channels_last = false;  // so do the weight and the result lie; operands may lie in any order

  Spatial kernel() const { return Spatial(weight.shape.begin() + 2, weight.shape.end()); }
  std::int64_t taps() const { return numel(Shape(weight.shape.begin() + 2, weight.shape.end())); }
  int axes() const { return x.shape.size() - 2; }
  std::int64_t in() const { return weight.shape[1]; }
  std::int64_t out() const { return weight.shape[0] / groups; }
  const Array& made() const { return result == Convolved::Y ? y : result == Convolved::X ? x : weight; }
};

/// By tiles of products.
void convolve_tiles(Gpu& gpu, const Convolution& conv);
/// Where groups are of few channels: each result by itself.
void convolve_alone(Gpu& gpu, const Convolution& conv);

/// The channels of a pixel, or of a tap, side by side; or row-major.
Dims strides_in(const Shape& shape, bool channels_last);

// ---- for its kernels ----

/// What a kernel is made for.
struct ConvKey {
  Convolved result;
  DType dtype, index;
  Spatial kernel, stride, dilation;
  bool channels_last, biased;

  int axes() const { return kernel.size(); }
  std::int64_t taps() const { return numel(Shape(kernel.begin(), kernel.end())); }
};
/// `most` is the largest number beside places and sizes that the kernel comes to.
ConvKey key_of(const Convolution& conv, std::int64_t most);

/// What a kernel is given.
struct ConvNumbers {
  ConvNumbers(Builder& k, const ConvKey& key);
  static void append(std::vector<Argument>& arguments, const Convolution& conv);

  /// Where element (out, in, tap) of the weight of a group lies.
  Expr weight_at(const Expr& group, const Expr& o, const Expr& i, const Expr& tap) const;
  /// The tap's place in each axis, in elements of x.
  std::vector<Expr> reach_of(const Expr& tap) const;
  struct Meeting {
    Expr at, inside;
  };
  /// Where the x lies that a tap joins with the y at these places, beside what batch and channel say; and is there one?
  Meeting x_of(std::span<const Expr> y, std::span<const Expr> reach) const;
  Meeting y_of(std::span<const Expr> x, std::span<const Expr> reach) const;
  /// Places in each axis of element `i` of x's, or y's, spatial dimensions.
  std::vector<Expr> unravel_x(const Expr& i) const { return unravel(i, x_sizes, axes_); }
  std::vector<Expr> unravel_y(const Expr& i) const { return unravel(i, y_sizes, axes_); }
  Expr x_size() const;
  Expr y_size() const;

  std::vector<Expr> x_strides, y_strides;  // along axes
  std::vector<Expr> x_sizes, y_sizes, padding;
  Expr x_batch, x_channel, y_batch, y_channel;  // strides
  Expr batch, groups, in, out;

 private:
  const ConvKey key_;
  Dims axes_{};
};

}  // namespace kiln::gpu::family
