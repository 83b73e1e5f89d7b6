#include "kiln/data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/data/compose/chosen.hpp"
#include "kiln/data/permutation.hpp"

namespace kiln {

Sampler in_order() {
  return [](std::int64_t items, Key) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(items));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    return order;
  };
}

Sampler in_random_order() { return permutation; }

Sampler weighted(std::vector<double> weights, std::optional<std::int64_t> count) {
  return [weights = std::move(weights), count](std::int64_t items, Key key) {
    require<ArgumentError>(std::ssize(weights) == items, "weighted: ", weights.size(), " weights for ", items,
                           " items");
    return sample_weighted(weights, count.value_or(items), key);
  };
}

Sampler sharded(Sampler whole, int rank, int ranks, Rest rest) {
  require<ArgumentError>(ranks >= 1 && rank >= 0 && rank < ranks, "sharded: rank ", rank, " of ", ranks,
                         " does not exist");
  return [whole = std::move(whole), rank, ranks, rest](std::int64_t items, Key key) {
    const std::vector<std::int64_t> order = whole(items, key);
    const std::int64_t all = std::ssize(order), left = all % ranks;
    const bool more = rest == Rest::Repeat ? left > 0 : rest == Rest::Keep && rank < left;
    const std::int64_t each = all / ranks + more;
    std::vector<std::int64_t> own;
    for (std::int64_t i = 0; i < each; ++i) own.push_back(order[static_cast<std::size_t>((i * ranks + rank) % all)]);
    return own;
  };
}

namespace {

/// The ends of batches, for indices in ascending order of length.
std::vector<std::int64_t> split_by_tokens(const LengthBatches& config, std::span<const std::int64_t> sorted) {
  std::vector<std::int64_t> ends;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < std::ssize(sorted); ++i) {
    const std::int64_t longest = config.lengths[static_cast<std::size_t>(sorted[static_cast<std::size_t>(i)])];
    const std::int64_t count = i - begin + 1;
    const bool too_long = config.most_tokens > 0 && longest > config.most_tokens / count;
    if (count > 1 && (too_long || count > config.batch_size)) ends.push_back(begin = i);
  }
  if (!sorted.empty()) ends.push_back(std::ssize(sorted));
  return ends;
}

}  // namespace

BatchRule by_length(LengthBatches config) {
  require<ArgumentError>(config.batch_size >= 1 && config.most_tokens >= 0 && config.pool >= 1,
                         "by_length: batch_size ", config.batch_size, " and pool ", config.pool,
                         " must be at least 1, most_tokens ", config.most_tokens, " at least 0");
  for (std::size_t i = 0; i < config.lengths.size(); ++i)
    require<ArgumentError>(config.lengths[i] >= 0, "by_length: item ", i, " has length ", config.lengths[i]);
  return [config = std::move(config)](std::vector<std::int64_t> order, Key key) {
    for (const std::int64_t index : order)
      require<ArgumentError>(index >= 0 && index < std::ssize(config.lengths), "by_length: there is no length of item ",
                             index, ", only ", config.lengths.size(), " lengths");
    const auto length = [&](std::int64_t index) { return config.lengths[static_cast<std::size_t>(index)]; };
    std::int64_t pool = 0;
    if (__builtin_mul_overflow(config.batch_size, config.pool, &pool)) pool = std::ssize(order);
    std::vector<std::span<const std::int64_t>> batches;
    for (std::span<std::int64_t> rest(order); !rest.empty();) {
      const auto part = rest.first(static_cast<std::size_t>(std::min<std::int64_t>(pool, std::ssize(rest))));
      std::ranges::stable_sort(part, {}, length);
      std::size_t begin = 0;
      for (const auto end : split_by_tokens(config, part)) {
        batches.push_back(part.subspan(begin, static_cast<std::size_t>(end) - begin));
        begin = static_cast<std::size_t>(end);
      }
      rest = rest.subspan(part.size());
    }
    BatchList list;
    for (const std::int64_t batch : permutation(std::ssize(batches), key)) {
      const auto& indices = batches[static_cast<std::size_t>(batch)];
      list.order.insert(list.order.end(), indices.begin(), indices.end());
      list.ends.push_back(std::ssize(list.order));
    }
    return list;
  };
}

}  // namespace kiln
