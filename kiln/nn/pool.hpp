// Pooling of [batch, channels, sizes...] over 1, 2 or 3 spatial dimensions. An option with a single entry holds for all
// dimensions.
#pragma once
#include <array>

#include "kiln/nn/spatial.hpp"
#include "kiln/tensor/pool.hpp"

namespace kiln::nn {

/// `options` with an entry for each of `dimensions`. Throws ArgumentError naming the layer.
PoolOptions complete(std::string_view layer, int dimensions, const PoolOptions& options);

template <int N>
struct MaxPool {
  static constexpr std::string_view kName = std::array{"MaxPool1d", "MaxPool2d", "MaxPool3d"}[N - 1];
  Spatial kernel = {};
  Spatial stride = {};  // none: the kernel's size
  Spatial padding = {}, dilation = {};
  bool ceil = false;

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return max_pool(x, complete(kName, N, {kernel, stride, padding, dilation, ceil}));
  }
};

template <int N>
struct AvgPool {
  static constexpr std::string_view kName = std::array{"AvgPool1d", "AvgPool2d", "AvgPool3d"}[N - 1];
  Spatial kernel = {};
  Spatial stride = {};  // none: the kernel's size
  Spatial padding = {};
  bool ceil = false;
  bool count_padding = true;

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return avg_pool(x, complete(kName, N, {kernel, stride, padding, {}, ceil, count_padding}));
  }
};

/// Averages over as many parts of each dimension as `sizes` says.
template <int N>
struct AdaptiveAvgPool {
  static constexpr std::string_view kName =
      std::array{"AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"}[N - 1];
  Spatial sizes = {};

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return adaptive_avg_pool(x, per_dimension(kName, "sizes", sizes, N, 0));
  }
};

using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

}  // namespace kiln::nn
