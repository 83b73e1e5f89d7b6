// Resizing of [batch, channels, sizes...] in 1, 2 and 3 dimensions.
#pragma once
#include "kiln/ops/spatial/resample.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// interpolate(x, {.scale = {2}, .mode = Interpolation::Linear}). The nearest modes also take integers and booleans.
template <int D, class K>
Tensor<D, K> interpolate(const Tensor<D, K>& x, const InterpolateOptions& options) {
  static_assert(3 <= D && D <= 5, "interpolate: [batch, channels, sizes...] with one to three sizes");
  return Typed{interpolate(x.value(), options)};
}

}  // namespace kiln
