// The module that does nothing, where a module is required.
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
