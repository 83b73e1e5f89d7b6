// A table of vectors, looked up by index.
#pragma once
#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"

namespace kiln::nn {

struct Embedding {
  Param<2> weight;  // [count, size]

  /// indices [...] -> [..., size]. Throws IndexError for an index that is not in [0, count).
  template <int D>
  Tensor<D + 1> forward(const Tensor<D, Int>& indices) const {
    return Typed{select(weight.value(), 0, indices.value())};
  }
};

struct EmbeddingConfig {
  std::int64_t count, size;
  Initializer initializer = init::Normal{};
  Embedding init(const Device& device) const;
};

}  // namespace kiln::nn
