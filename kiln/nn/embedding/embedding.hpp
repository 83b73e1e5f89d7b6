// Tables of vectors that are looked up by index.
#pragma once
#include <optional>

#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/ops/index/embedding.hpp"

namespace kiln::nn {

struct Embedding {
  Param<2> weight;                                 // [count, size]
  std::optional<std::int64_t> padding_index = {};  // its row gets no gradient

  /// indices [...] -> [..., size]. Throws IndexError for an index that is not in [0, count).
  template <int D>
  Tensor<D + 1> forward(const Tensor<D, Int>& indices) const {
    return Typed{embedding(weight.value(), indices.value(), padding_index)};
  }
};

struct EmbeddingConfig {
  std::int64_t count, size;
  Initializer initializer = init::Normal{};
  std::optional<std::int64_t> padding_index = {};  // its row is initialized with zeros, and stays so

  /// Throws ArgumentError if a size is below 1, or the padding index is not a row.
  Embedding init(const Device& device) const;
};

/// Rows of a table looked up by bags of indices, each bag reduced to one vector.
struct EmbeddingBag {
  Param<2> weight;  // [count, size]
  BagMode mode = BagMode::Mean;
  std::optional<std::int64_t> padding_index = {};  // entries with this index are ignored

  /// indices [bags, entries] -> [bags, size]; `entry_weights`, with the shape of indices, multiply the rows of a Sum.
  Tensor<2> forward(const Tensor<2, Int>& indices, const Tensor<2>& entry_weights = {}) const {
    return Typed{embedding_bag(weight.value(), indices.value(), {mode, padding_index}, entry_weights.value())};
  }
  /// Bags of different lengths: bag i is indices [entries] from offsets[i] to the next offset. Waits for the device.
  Tensor<2> forward(const Tensor<1, Int>& indices, const Tensor<1, Int>& offsets,
                    const Tensor<1>& entry_weights = {}) const {
    return Typed{
        embedding_bag(weight.value(), indices.value(), offsets.value(), {mode, padding_index}, entry_weights.value())};
  }
};

struct EmbeddingBagConfig {
  std::int64_t count, size;
  BagMode mode = BagMode::Mean;
  Initializer initializer = init::Normal{};
  std::optional<std::int64_t> padding_index = {};
  EmbeddingBag init(const Device& device) const;
};

}  // namespace kiln::nn
