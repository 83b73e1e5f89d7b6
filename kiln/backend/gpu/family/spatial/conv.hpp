// Convolutions by our own kernels: what the three ops have in common. They go over the same products x * weight -> y,
// and differ in which of the three they sum into.
#pragma once
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/product/product.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::gpu::family {

enum class Convolved : std::uint8_t { Y, X, Weight };

/// x [batch, groups in, sizes...], weight [groups out, in, kernel...] and y [batch, groups out, result sizes...] of one
/// of the three ops; one of them is the result. The weight is dense, row-major or channels last.
struct Convolution {
  Convolved result;
  Array x{}, weight{}, y{};
  const std::byte* bias = nullptr;
  std::int64_t groups = 1;
  Spatial stride{}, padding{}, dilation{};
  bool channels_last = false;  // order of the weight and the result; operands may have any strides

  Spatial kernel() const { return Spatial(weight.shape.begin() + 2, weight.shape.end()); }
  std::int64_t taps() const { return numel(Shape(weight.shape.begin() + 2, weight.shape.end())); }
  int axes() const { return x.shape.size() - 2; }
  std::int64_t in() const { return weight.shape[1]; }
  std::int64_t out() const { return weight.shape[0] / groups; }
  const Array& made() const { return result == Convolved::Y ? y : result == Convolved::X ? x : weight; }
};

/// Computes it by tiled products.
void convolve_tiles(Gpu& gpu, const Convolution& conv);
/// Computes each result separately, which suits groups of few channels.
void convolve_alone(Gpu& gpu, const Convolution& conv);

/// Strides of `shape` with the channels of a pixel, or of a tap, last; or row-major.
Dims strides_in(const Shape& shape, bool channels_last);

// ---- for the kernels ----

/// All that a kernel is specialized for.
struct ConvKey {
  Convolved result;
  DType dtype, index;
  Spatial kernel, stride, dilation;
  bool channels_last, biased;

  int axes() const { return kernel.size(); }
  std::int64_t taps() const { return numel(Shape(kernel.begin(), kernel.end())); }
};
/// `most` is the largest number that the kernel computes, besides offsets and sizes.
ConvKey key_of(const Convolution& conv, std::int64_t most);

/// The parameters of a kernel.
struct ConvNumbers {
  ConvNumbers(Builder& k, const ConvKey& key);
  static void append(std::vector<Argument>& arguments, const Convolution& conv);

  /// The offset of element (out, in, tap) of a group's weight.
  Expr weight_at(const Expr& group, const Expr& o, const Expr& i, const Expr& tap) const;
  /// The tap's offset in each axis, in elements of x.
  std::vector<Expr> reach_of(const Expr& tap) const;
  struct Tap {
    Expr at, inside;
  };
  /// The offset in x, beside that of batch and channel, of the element that a tap pairs with y at these places; and
  /// does it exist?
  Tap x_of(std::span<const Expr> y, std::span<const Expr> reach) const;
  Tap y_of(std::span<const Expr> x, std::span<const Expr> reach) const;
  /// The index in each axis of element `i` of x's, or y's, spatial dimensions.
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
