// Convolutions over 1, 2 or 3 spatial dimensions, transposed ones, and deformable ones.
#pragma once
#include <array>

#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/nn/spatial/spatial.hpp"
#include "kiln/tensor/conv.hpp"

namespace kiln::nn {

/// A convolution with a border: `same` computes it for each x (see same_border), otherwise options give it.
Value conv_with_border(const Value& x, const Value& weight, const Value& bias, ConvOptions options, bool same,
                       PadMode mode);

/// x [batch, in, sizes...] -> [batch, out, sizes...]
template <int N>
struct Conv {
  static constexpr std::string_view kName = std::array{"Conv1d", "Conv2d", "Conv3d"}[N - 1];
  Param<N + 2> weight;  // [out, in / groups, kernel...]
  Param<1> bias;        // [out], or absent
  Spatial stride, padding, dilation;
  std::int64_t groups = 1;
  Spatial padding_after = {};  // at the end of each dimension; empty: like `padding`
  bool same = false;           // instead of both paddings: sizes are divided by the stride and rounded up
  PadMode padding_mode = PadMode::Constant;

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const { return forward_with(weight, x); }
  /// Uses another weight of the same shape.
  Tensor<N + 2> forward_with(const Tensor<N + 2>& other, const Tensor<N + 2>& x) const {
    return Typed{conv_with_border(x.value(), other.value(), bias.value(),
                                  {stride, padding, dilation, padding_after, groups}, same, padding_mode)};
  }
};

template <int N>
struct ConvConfig {
  std::int64_t in, out;
  Spatial kernel = {};  // a single size holds for all dimensions
  Spatial stride = {}, padding = {}, dilation = {};
  Spatial padding_after = {};  // at the end of each dimension; empty: like `padding`
  bool same = false;           // instead of both paddings: sizes are divided by the stride and rounded up
  PadMode padding_mode = PadMode::Constant;
  std::int64_t groups = 1;
  bool bias = true;
  Initializer initializer = kLayerDefault;

  /// Throws ArgumentError for sizes below 1, a negative padding, or channels that the groups do not divide.
  Conv<N> init(const Device& device) const;
};

/// x [batch, in, sizes...] -> [batch, out, sizes...]: the adjoint of a convolution from `out` to `in` channels.
template <int N>
struct ConvTranspose {
  static constexpr std::string_view kName = std::array{"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"}[N - 1];
  Param<N + 2> weight;  // [in, out / groups, kernel...]
  Param<1> bias;        // [out], or absent
  Spatial stride, padding, dilation;
  std::int64_t groups = 1;
  Spatial result_padding;
  Spatial padding_after = {};  // at the end of each dimension; empty: like `padding`

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const { return forward_with(weight, x); }
  /// Uses another weight of the same shape.
  Tensor<N + 2> forward_with(const Tensor<N + 2>& other, const Tensor<N + 2>& x) const {
    return conv_transpose(x, other, bias, {stride, padding, dilation, padding_after, groups}, result_padding);
  }
};

template <int N>
struct ConvTransposeConfig {
  std::int64_t in, out;
  Spatial kernel = {};
  Spatial stride = {}, padding = {}, dilation = {}, padding_after = {};
  // Added to the end of each size, to select one of the sizes that the stride maps to the same result.
  Spatial result_padding = {};
  std::int64_t groups = 1;
  bool bias = true;
  Initializer initializer = kLayerDefault;

  ConvTranspose<N> init(const Device& device) const;
};

/// A convolution whose kernel reads at shifted positions, x [batch, in, height, width] (Dai et al., "Deformable
/// convolutional networks", 2017).
struct DeformConv2d {
  Param<4> weight;  // [out, in / groups, rows, columns]
  Param<1> bias;    // [out], or absent
  Spatial stride, padding, dilation;
  std::int64_t groups = 1;

  /// offset [batch, 2 * parts * rows * columns, result height, result width]: the shifts down and right for each
  /// element of the kernel; each of `parts` groups of channels has its own. mask [batch, parts * rows * columns, the
  /// same sizes], or empty.
  Tensor<4> forward(const Tensor<4>& x, const Tensor<4>& offset, const Tensor<4>& mask = {}) const {
    return deform_conv2d(x, offset, weight, bias, mask, {stride, padding, dilation, {}, groups});
  }
};

struct DeformConv2dConfig {
  std::int64_t in, out;
  Spatial kernel = {};
  Spatial stride = {}, padding = {}, dilation = {};
  std::int64_t groups = 1;
  bool bias = true;
  Initializer initializer = kLayerDefault;

  DeformConv2d init(const Device& device) const;
};

using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;
using Conv1dConfig = ConvConfig<1>;
using Conv2dConfig = ConvConfig<2>;
using Conv3dConfig = ConvConfig<3>;
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;
using ConvTranspose1dConfig = ConvTransposeConfig<1>;
using ConvTranspose2dConfig = ConvTransposeConfig<2>;
using ConvTranspose3dConfig = ConvTransposeConfig<3>;

}  // namespace kiln::nn
