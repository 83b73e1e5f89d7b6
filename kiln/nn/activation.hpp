// Activation functions as modules, for Sequential and for structs that name them.
#pragma once
#include "kiln/tensor/arithmetic.hpp"

namespace kiln::nn {

struct Relu {
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.relu();
  }
};
/// x * Phi(x), exactly; or PyTorch's tanh approximation.
struct Gelu {
  bool approximate = false;
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return approximate ? x.gelu_tanh() : x.gelu();
  }
};
struct Silu {
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.silu();
  }
};
struct Sigmoid {
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.sigmoid();
  }
};
struct Tanh {
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.tanh();
  }
};
struct Softmax {
  Dim dim = -1;
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.softmax(dim);
  }
};
struct LogSoftmax {
  Dim dim = -1;
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return x.log_softmax(dim);
  }
};

}  // namespace kiln::nn
