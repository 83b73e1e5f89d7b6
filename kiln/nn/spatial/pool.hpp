// Pooling of [batch, channels, sizes...] over 1, 2 or 3 spatial dimensions. An option with a single entry holds for all
// dimensions.
#pragma once
#include <array>

#include "kiln/nn/spatial/spatial.hpp"
#include "kiln/tensor/pool.hpp"

namespace kiln::nn {

/// `options` with an entry for each spatial dimension of x, and the padding for `same` (see same_border). Throws
/// ArgumentError that names the layer.
PoolOptions complete(std::string_view layer, const Value& x, const PoolOptions& options, bool same);

template <int N>
struct MaxPool {
  static constexpr std::string_view kName = std::array{"MaxPool1d", "MaxPool2d", "MaxPool3d"}[N - 1];
  Spatial kernel = {};
  Spatial stride = {};  // empty: the kernel's size
  Spatial padding = {}, dilation = {};
  bool ceil = false;
  Spatial padding_after = {};  // at the end of each dimension; empty: like `padding`
  bool same = false;           // instead of both paddings: sizes are divided by the stride and rounded up

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return max_pool(x, complete(kName, x.value(),
                                {.kernel = kernel,
                                 .stride = stride,
                                 .padding = padding,
                                 .dilation = dilation,
                                 .ceil = ceil,
                                 .padding_after = padding_after},
                                same));
  }
};

template <int N>
struct AvgPool {
  static constexpr std::string_view kName = std::array{"AvgPool1d", "AvgPool2d", "AvgPool3d"}[N - 1];
  Spatial kernel = {};
  Spatial stride = {};  // empty: the kernel's size
  Spatial padding = {};
  bool ceil = false;
  bool count_padding = true;
  Spatial padding_after = {};  // at the end of each dimension; empty: like `padding`
  bool same = false;           // instead of both paddings: sizes are divided by the stride and rounded up

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return avg_pool(x, complete(kName, x.value(),
                                {.kernel = kernel,
                                 .stride = stride,
                                 .padding = padding,
                                 .ceil = ceil,
                                 .count_padding = count_padding,
                                 .padding_after = padding_after},
                                same));
  }
};

/// The p-norm of each window.
template <int N>
struct LpPool {
  static constexpr std::string_view kName = std::array{"LpPool1d", "LpPool2d", "LpPool3d"}[N - 1];
  double p = 2;
  Spatial kernel = {};
  Spatial stride = {};  // empty: the kernel's size
  bool ceil = false;

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return lp_pool(x, p, complete(kName, x.value(), {.kernel = kernel, .stride = stride, .ceil = ceil}, false));
  }
};

/// Averages over `sizes` parts of each dimension.
template <int N>
struct AdaptiveAvgPool {
  static constexpr std::string_view kName =
      std::array{"AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"}[N - 1];
  Spatial sizes = {};

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return adaptive_avg_pool(x, per_dimension(kName, "sizes", sizes, N, 0));
  }
};

/// The largest elements of `sizes` parts of each dimension.
template <int N>
struct AdaptiveMaxPool {
  static constexpr std::string_view kName =
      std::array{"AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"}[N - 1];
  Spatial sizes = {};

  Tensor<N + 2> forward(const Tensor<N + 2>& x) const {
    return adaptive_max_pool(x, per_dimension(kName, "sizes", sizes, N, 0));
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
using LpPool1d = LpPool<1>;
using LpPool2d = LpPool<2>;
using LpPool3d = LpPool<3>;
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

}  // namespace kiln::nn
