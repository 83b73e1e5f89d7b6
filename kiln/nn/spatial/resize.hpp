// Padding, resizing and rearranging of [batch, channels, sizes...], without parameters. An option with a single entry
// holds for all dimensions.
#pragma once
#include <array>

#include "kiln/nn/spatial/spatial.hpp"
#include "kiln/tensor/conv.hpp"
#include "kiln/tensor/resample.hpp"

namespace kiln::nn {

/// Pads both ends of each size: with `value`, or as PadMode says (reflected, repeated edge, wrapped around).
template <int N>
struct Pad {
  static constexpr std::string_view kName = std::array{"Pad1d", "Pad2d", "Pad3d"}[N - 1];
  Spatial before = {};
  Spatial after = {};  // empty: like `before`
  PadMode mode = PadMode::Constant;
  double value = 0;

  /// Throws ArgumentError for another number of entries, or a value with a mode other than Constant.
  template <class K>
  Tensor<N + 2, K> forward(const Tensor<N + 2, K>& x) const {
    require<ArgumentError>(value == 0 || mode == PadMode::Constant, kName, ": a value of ", value,
                           " requires PadMode::Constant");
    const Spatial first = per_dimension(kName, "before", before, N, 0);
    const Border border{first, after.empty() ? first : per_dimension(kName, "after", after, N, 0)};
    return Typed{with_border(x.value(), border, mode, value)};
  }
};
using Pad1d = Pad<1>;
using Pad2d = Pad<2>;
using Pad3d = Pad<3>;

/// Resizes to `size`, or by `scale`; exactly one is given. See ops/spatial/resample.hpp for the modes.
struct Interpolate {
  Spatial size = {};
  InlineList<double, 3> scale = {};
  Interpolation mode = Interpolation::Nearest;
  bool align_corners = false;
  bool antialias = false;

  template <int D, class K>
  requires(3 <= D && D <= 5) Tensor<D, K> forward(const Tensor<D, K>& x) const {
    return interpolate(x, {size, scale, mode, align_corners, antialias});
  }
};

/// [batch, channels * factor^n, n sizes...] -> [batch, channels, sizes * factor...]
struct PixelShuffle {
  std::int64_t factor = 2;

  template <int D, class K>
  requires(3 <= D && D <= 5) Tensor<D, K> forward(const Tensor<D, K>& x) const {
    return pixel_shuffle(x, factor);
  }
};
/// The inverse of PixelShuffle.
struct PixelUnshuffle {
  std::int64_t factor = 2;

  template <int D, class K>
  requires(3 <= D && D <= 5) Tensor<D, K> forward(const Tensor<D, K>& x) const {
    return pixel_unshuffle(x, factor);
  }
};

/// The elements of each window: [batch, channels, N sizes...] -> [batch, channels * kernel elements, windows].
template <int N>
struct Unfold {
  static constexpr std::string_view kName = std::array{"Unfold1d", "Unfold2d", "Unfold3d"}[N - 1];
  Spatial kernel = {}, stride = {}, padding = {}, dilation = {};

  template <class K>
  Tensor<3, K> forward(const Tensor<N + 2, K>& x) const {
    return unfold(x, windows(kName, N, {kernel, stride, padding, dilation}));
  }
};
/// The reverse of Unfold: sums windows where they overlap, and gives [batch, channels, sizes...].
template <int N>
struct Fold {
  static constexpr std::string_view kName = std::array{"Fold1d", "Fold2d", "Fold3d"}[N - 1];
  Spatial sizes = {};  // sizes of the result
  Spatial kernel = {}, stride = {}, padding = {}, dilation = {};

  template <class K>
  Tensor<N + 2, K> forward(const Tensor<3, K>& columns) const {
    return fold<N + 2>(columns, per_dimension(kName, "sizes", sizes, N, 0),
                       windows(kName, N, {kernel, stride, padding, dilation}));
  }
};
using Unfold1d = Unfold<1>;
using Unfold2d = Unfold<2>;
using Unfold3d = Unfold<3>;
using Fold1d = Fold<1>;
using Fold2d = Fold<2>;
using Fold3d = Fold<3>;

}  // namespace kiln::nn
