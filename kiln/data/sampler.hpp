// In which order a loader goes through a data set, and where it cuts that into batches.
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

/// The indices of an epoch in their order. A function of its arguments alone: a training that is resumed asks again.
using Sampler = std::function<std::vector<std::int64_t>(std::int64_t items, Key key)>;

/// 0, 1, 2, ...
Sampler in_order();
/// Each item once.
Sampler in_random_order();
/// `count` draws, as many as there are weights by default, each item as likely as its share of the weights; an item may come
/// more than once. An epoch throws ArgumentError for weights that are no such, or not as many as items.
Sampler weighted(std::vector<double> weights, std::optional<std::int64_t> count = std::nullopt);
/// What becomes of the items at the end that are less than one for each rank.
enum class Rest : std::uint8_t {
  Drop,    // they go to none
  Repeat,  // the first ones come again
  Keep,    // they go to the first ranks, which have an item more
};
/// Each `ranks`th index of another order, from `rank` on, so that the batches of all ranks are together what one process
/// visits in batches `ranks` times as large. Throws ArgumentError.
Sampler sharded(Sampler whole, int rank, int ranks, Rest rest = Rest::Drop);

/// An epoch's indices in their final order, and where each batch ends in it.
struct BatchList {
  std::vector<std::int64_t> order, ends;
};
/// Makes batches of an order. A function of its arguments alone.
using BatchRule = std::function<BatchList(std::vector<std::int64_t> order, Key key)>;

struct LengthBatches {
  std::vector<std::int64_t> lengths;  // of all items
  std::int64_t batch_size = 32;       // items at most
  std::int64_t most_tokens = 0;       // items times the longest of them at most; 0: any number
  std::int64_t pool = 50;             // as many batches' items are sorted by length at a time
};

/// Batches of items of similar lengths, so that little of them is padding, in a random order. An item that alone has more
/// than `most_tokens` is a batch. Throws ArgumentError.
BatchRule by_length(LengthBatches config);

}  // namespace kiln
