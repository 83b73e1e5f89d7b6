// Channels-last order: [batch, channels, sizes...] with the channels of one pixel side by side. Convolutions store
// their results in this order, and elementwise ops keep it.
#pragma once
#include "kiln/core/shape.hpp"

namespace kiln::cpu {

inline Dims channels_last_strides(const Shape& shape) {
  Dims strides = Dims::filled(shape.size(), 1);
  std::int64_t stride = shape[1];
  for (int i = shape.size() - 1; i >= 2; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  strides[0] = stride;
  return strides;
}

}  // namespace kiln::cpu
