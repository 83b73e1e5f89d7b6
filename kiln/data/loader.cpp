#include "kiln/data/loader.hpp"

#include <algorithm>
#include <numeric>

namespace kiln {

LoaderConfig checked(const LoaderConfig& config) {
  constexpr int kMaxWorkers = 1024;
  require<ArgumentError>(config.batch_size >= 1, "data loader: batch_size is ", config.batch_size,
                         ", it must be at least 1");
  require<ArgumentError>(config.workers >= 0 && config.workers <= kMaxWorkers, "data loader: workers is ",
                         config.workers, ", it must be 0 to ", kMaxWorkers);
  require<ArgumentError>(config.prefetch >= 1 && config.prefetch <= kMaxWorkers, "data loader: prefetch is ",
                         config.prefetch, ", it must be 1 to ", kMaxWorkers);
  return config;
}

std::int64_t batch_count(const LoaderConfig& config, std::int64_t items) {
  const bool partial = items % config.batch_size != 0 && !config.drop_last;
  return items / config.batch_size + partial;
}

EpochPlan::EpochPlan(const LoaderConfig& config, std::int64_t items, std::int64_t epoch)
    : batch_size_(config.batch_size), batches_(batch_count(config, items)) {
  const Key key = Key{config.seed}.split(static_cast<std::uint64_t>(epoch));
  items_key_ = key.split(0);
  if (config.shuffle) {
    order_ = permutation(items, key.split(1));
  } else {
    order_.resize(static_cast<std::size_t>(items));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
  }
}

std::span<const std::int64_t> EpochPlan::indices(std::int64_t batch) const {
  const auto all = std::span(order_).subspan(static_cast<std::size_t>(batch * batch_size_));
  return all.first(std::min(all.size(), static_cast<std::size_t>(batch_size_)));
}

}  // namespace kiln
