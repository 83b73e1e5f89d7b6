// Lookup tables of vectors.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Rows of weight [count, size] at indices [...] -> [..., size]. The row at `padding_index` gets no gradient.
/// Throws IndexError for an index that is not in [0, count).
Value embedding(const Value& weight, const Value& indices, std::optional<std::int64_t> padding_index = {});

enum class BagMode : std::uint8_t { Sum, Mean, Max };

struct EmbeddingBagOptions {
  BagMode mode = BagMode::Sum;
  std::optional<std::int64_t> padding_index = {};  // entries with this index are ignored
};
/// Reduces bags of rows of weight [count, size]: indices [bags, entries] -> [bags, size]. `entry_weights`, of the shape
/// of indices, multiply the rows of a Sum; empty: 1. A bag without entries gives zeros.
Value embedding_bag(const Value& weight, const Value& indices, const EmbeddingBagOptions& options = {},
                    const Value& entry_weights = {});
/// Bags of any length: bag i has the indices [entries] from offsets[i] to the next offset. offsets [bags] start at 0
/// and do not descend; they are read on the host, so the call waits for the device. Mode Max pads each bag to the
/// longest.
Value embedding_bag(const Value& weight, const Value& indices, const Value& offsets, const EmbeddingBagOptions& options,
                    const Value& entry_weights = {});

}  // namespace kiln
