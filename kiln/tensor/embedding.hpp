// Lookup tables of vectors, and the product of a linear layer.
#pragma once
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// Rows of weight [count, size]; the row at `padding_index` gets no gradient. Throws IndexError.
template <int D>
Tensor<D + 1> embedding(const Tensor<2>& weight, const Tensor<D, Int>& indices,
                        std::optional<std::int64_t> padding_index = {}) {
  return Typed{embedding(weight.value(), indices.value(), padding_index)};
}
/// indices [bags, entries] -> [bags, size]: the rows of each bag reduced to one.
inline Tensor<2> embedding_bag(const Tensor<2>& weight, const Tensor<2, Int>& indices,
                               const EmbeddingBagOptions& options = {}, const Tensor<2>& entry_weights = {}) {
  return Typed{embedding_bag(weight.value(), indices.value(), options, entry_weights.value())};
}
/// Bag i has the indices [entries] from offsets[i] to the next offset. Waits for the device.
inline Tensor<2> embedding_bag(const Tensor<2>& weight, const Tensor<1, Int>& indices, const Tensor<1, Int>& offsets,
                               const EmbeddingBagOptions& options = {}, const Tensor<1>& entry_weights = {}) {
  return Typed{embedding_bag(weight.value(), indices.value(), offsets.value(), options, entry_weights.value())};
}

/// x [..., in], weight [out, in], bias [out] or none -> [..., out]
template <int D>
Tensor<D> linear(const Tensor<D>& x, const Tensor<2>& weight, const Tensor<1>& bias = {}) {
  static_assert(D >= 1, "linear: x is [..., in]");
  return Typed{linear(x.value(), weight.value(), bias.value())};
}

}  // namespace kiln
