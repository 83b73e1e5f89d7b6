// The module that does nothing, for a place that must hold one.
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln::nn {

struct Identity {
  Value apply(const Value& x) const { return x; }
  template <int D, class K>
  Tensor<D, K> forward(const Tensor<D, K>& x) const {
    return x;
  }
};

}  // namespace kiln::nn
