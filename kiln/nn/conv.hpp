// Convolutions over 1, 2 or 3 spatial dimensions, and their transposed form.
#pragma once
#include <array>

#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/tensor/conv.hpp"

namespace kiln::nn {

/// x [batch, in, sizes...] -> [batch, out, sizes...]
template <int N>
struct Conv {
  static constexpr std::string_view kName = std::array{"Conv1d", "Conv2d", "Conv3d"}[N - 1];
  Param<N + 2> weight;  // [out, in / groups, kernel...]
  Param<1> bias;        // [out], or absent
  Spatial stride, padding, dilation;
  std::int64_t groups = 1;

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return conv(x, weight, bias, {stride, padding, dilation, {}, groups});
  }
};

template <int N>
struct ConvConfig {
  std::int64_t in, out;
  Spatial kernel = {};  // one size holds for all dimensions
  Spatial stride = {}, padding = {}, dilation = {};
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

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return conv_transpose(x, weight, bias, {stride, padding, dilation, {}, groups}, result_padding);
  }
};

template <int N>
struct ConvTransposeConfig {
  std::int64_t in, out;
  Spatial kernel = {};
  Spatial stride = {}, padding = {}, dilation = {};
  Spatial result_padding = {};  // added to the end of each size, to choose among those that stride maps to one
  std::int64_t groups = 1;
  bool bias = true;
  Initializer initializer = kLayerDefault;

  ConvTranspose<N> init(const Device& device) const;
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
