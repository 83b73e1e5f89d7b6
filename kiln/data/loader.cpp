#include "kiln/data/loader.hpp"

#include <algorithm>
#include <iterator>

#include "kiln/core/error/say_once.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/data/sha256.hpp"

namespace kiln {

LoaderConfig checked(const LoaderConfig& config) {
  constexpr int kMaxWorkers = 1024;
  require<ArgumentError>(config.batch_size >= 1, "data loader: batch_size is ", config.batch_size,
                         ", it must be at least 1");
  require<ArgumentError>(config.workers >= 0 && config.workers <= kMaxWorkers, "data loader: workers is ",
                         config.workers, ", it must be 0 to ", kMaxWorkers);
  require<ArgumentError>(config.prefetch >= 1 && config.prefetch <= kMaxWorkers, "data loader: prefetch is ",
                         config.prefetch, ", it must be 1 to ", kMaxWorkers);
  require<ArgumentError>(!config.shuffle || !config.sampler, "data loader: give a sampler or shuffle, not both");
  return config;
}

std::int64_t batch_count(const LoaderConfig& config, std::int64_t items) {
  const bool partial = items % config.batch_size != 0 && !config.drop_last;
  return items / config.batch_size + partial;
}

EpochPlan::EpochPlan(const LoaderConfig& config, std::int64_t items, std::int64_t epoch)
    : batch_size_(config.batch_size), cut_(config.batches != nullptr) {
  const Key key = Key{config.seed}.split(static_cast<std::uint64_t>(epoch));
  items_key_ = key.split(0);
  order_ = (config.sampler ? config.sampler : config.shuffle ? in_random_order() : in_order())(items, key.split(1));
  if (!cut_ && config.drop_last && !order_.empty() && std::ssize(order_) < batch_size_)
    say_once(text("DataLoader: the ", order_.size(), " items are fewer than a batch of ", batch_size_,
                  ", and drop_last leaves them out, so that there are no batches"));
  if (cut_) {
    BatchList list = config.batches(std::move(order_), key.split(2));
    order_ = std::move(list.order);
    ends_ = std::move(list.ends);
    std::int64_t begin = 0;
    for (const auto end : ends_) {
      require<ArgumentError>(end > begin && end <= std::ssize(order_), "data loader: a batch cannot be the items ",
                             begin, " to ", end, " of ", order_.size());
      begin = end;
    }
  }
  batches_ = cut_ ? std::ssize(ends_) : batch_count(config, std::ssize(order_));
  if (!config.sampler && !cut_) return;
  for (const auto index : order_)
    require<IndexError>(index >= 0 && index < items, "data loader: the sampler chose item ", index, " of ", items);
}

std::int64_t EpochPlan::items() const {
  if (!cut_) return std::ssize(order_);
  return ends_.empty() ? 0 : ends_.back();
}

std::span<const std::int64_t> EpochPlan::indices(std::int64_t batch) const {
  const std::span<const std::int64_t> all(order_);
  if (cut_) {
    const auto at = static_cast<std::size_t>(batch);
    const std::int64_t begin = at == 0 ? 0 : ends_[at - 1];
    return all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(ends_[at] - begin));
  }
  const auto rest = all.subspan(static_cast<std::size_t>(batch * batch_size_));
  return rest.first(std::min(rest.size(), static_cast<std::size_t>(batch_size_)));
}

Json described(const LoaderConfig& config, std::int64_t items) {
  Json::Object said{{"items", Json{items}}, {"seed", Json{config.seed}}};
  if (!config.batches) {
    said.emplace_back("batch_size", Json{config.batch_size});
    said.emplace_back("drop_last", Json{config.drop_last});
  }
  if (!config.sampler) said.emplace_back("shuffle", Json{config.shuffle});
  if (config.sampler || config.batches) {
    const EpochPlan plan(config, items, 0);
    Sha256 digest;
    for (std::int64_t batch = 0; batch < plan.batches(); ++batch) {
      const auto indices = plan.indices(batch);
      const std::int64_t size = std::ssize(indices);
      digest.update(std::as_bytes(std::span(&size, 1)));
      digest.update(std::as_bytes(indices));
    }
    said.emplace_back("order", Json{digest.hex_digest()});
  }
  return Json{std::move(said)};
}

void with_item_context(std::span<const std::int64_t> indices, FunctionRef<void(std::size_t& at)> get) {
  std::size_t at = 0;
  try {
    get(at);
  } catch (const Error& error) {
    if (at >= indices.size()) throw;
    raise(error.kind(), with_end(error.message(), text(" (item ", indices[at], " of the data set)")));
  }
}

}  // namespace kiln
