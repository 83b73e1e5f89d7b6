// The order in which a loader visits a data set, and how it is split into batches.
//
//   DataLoader loader(reviews, batcher, {.seed = 1, .sampler = weighted(weights)});
//   DataLoader part(reviews, batcher, {.seed = 1, .sampler = sharded(in_random_order(), rank, ranks)});
//   DataLoader texts(tokens, padding, {.seed = 1, .sampler = in_random_order(), .batches = by_length({.lengths = lengths})});
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kiln/core/random.hpp"

namespace kiln {

/// The indices of an epoch in order. A function of its arguments alone: resumed training calls it again.
using Sampler = std::function<std::vector<std::int64_t>(std::int64_t items, Key key)>;

/// 0, 1, 2, ...
Sampler in_order();
/// Each item once, in a random order.
Sampler in_random_order();
/// `count` samples, by default as many as weights, with probabilities proportional to the weights; an item may occur
/// more than once. An epoch throws ArgumentError for invalid weights, or if there are not as many as items.
Sampler weighted(std::vector<double> weights, std::optional<std::int64_t> count = std::nullopt);
/// What happens to items at the end that are not enough for all ranks.
enum class Rest : std::uint8_t {
  Drop,    // no rank gets them
  Repeat,  // the first items are repeated
  Keep,    // the first ranks get one item more
};
/// Each `ranks`th index of another order, from `rank` on, so that the batches of all ranks together are those of one
/// process with batches `ranks` times as large. Throws ArgumentError.
Sampler sharded(Sampler whole, int rank, int ranks, Rest rest = Rest::Drop);

/// An epoch's indices in their final order, and the end of each batch in it.
struct BatchList {
  std::vector<std::int64_t> order, ends;
};
/// Splits an order into batches. A function of its arguments alone.
using BatchRule = std::function<BatchList(std::vector<std::int64_t> order, Key key)>;

struct LengthBatches {
  std::vector<std::int64_t> lengths;  // lengths of all items
  std::int64_t batch_size = 32;       // the most items
  std::int64_t most_tokens = 0;       // the most of items * longest item; 0: no limit
  std::int64_t pool = 50;             // this many batches' items are sorted by length at a time
};

/// Batches of items of similar lengths, to reduce padding, in a random order. An item that exceeds `most_tokens` by
/// itself is a batch. Throws ArgumentError.
BatchRule by_length(LengthBatches config);

}  // namespace kiln
