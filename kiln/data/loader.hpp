// Goes through a data set in batches, prepared ahead by worker threads:
//
//   DataLoader loader(train, ImageBatcher{}, {.batch_size = 64, .shuffle = true, .seed = 7, .workers = 2});
//   for (auto& batch : loader) step(batch.images, batch.targets);
//
// Each such loop is one epoch, and the next one comes in another order. What a batch holds depends on
// (seed, epoch, position) alone: the number of workers changes nothing but the time.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/prefetch.hpp"
#include "kiln/data/sampler.hpp"

namespace kiln {

struct LoaderConfig {
  std::int64_t batch_size = 32;
  bool shuffle = false;    // a new order every epoch; otherwise the order of the data set
  std::uint64_t seed = 0;  // decides the orders and the keys that a batcher draws from
  int workers = 0;         // threads that prepare batches; with none, the loop's own thread does
  int prefetch = 4;        // batches prepared ahead of the one in use, at least one for each worker
  bool drop_last = false;  // leave out a last batch that is smaller than the others
  Sampler sampler = {};    // an order of another kind, in place of `shuffle`
  BatchRule batches = {};  // batches of another kind, in place of `batch_size` and `drop_last`
};

/// The configuration itself. Throws ArgumentError where it makes no sense.
LoaderConfig checked(const LoaderConfig& config);

/// Batches in an epoch of `items` items; there is neither a sampler nor a rule of batches.
std::int64_t batch_count(const LoaderConfig& config, std::int64_t items);

/// Which items one epoch visits, batch by batch, and the random keys that belong to them.
class EpochPlan {
 public:
  /// Throws IndexError for an item of the sampler's that does not exist, ArgumentError for batches that are none.
  EpochPlan(const LoaderConfig& config, std::int64_t items, std::int64_t epoch);

  std::int64_t batches() const { return batches_; }
  /// The items of a batch, as indices into the data set.
  std::span<const std::int64_t> indices(std::int64_t batch) const;
  /// What random changes to item `index` draw from: a function of (seed, epoch, index).
  Key item_key(std::int64_t index) const { return items_key_.split(static_cast<std::uint64_t>(index)); }

 private:
  std::int64_t batch_size_, batches_ = 0;
  bool cut_;  // whether `ends_` says where batches end
  Key items_key_;
  std::vector<std::int64_t> order_, ends_;
};

/// What decides which items batches hold, as far as it can be written down: an order of a sampler or a rule of batches by a
/// digest of the first epoch. For who wants to know whether a loader is what it was.
Json described(const LoaderConfig& config, std::int64_t items);

/// Calls `get`; an error of Kiln's that comes out of it ends with which item of the data set it was about.
void naming_item(std::int64_t index, FunctionRef<void()> get);

/// Makes a batch from its items, or from its items and one random key for each (for augmentation).
/// Called from several threads at once.
template <class B, class Item>
concept PlainBatcher = std::invocable<const B&, std::span<const Item>>;
template <class B, class Item>
concept KeyedBatcher = std::invocable<const B&, std::span<const Item>, std::span<const Key>>;
template <class B, class Item>
concept Batcher = PlainBatcher<B, Item> || KeyedBatcher<B, Item>;

/// Batches of a data set, an input range. An empty data set gives an empty range, and so does one smaller
/// than a batch under drop_last. An error of the data set or the batcher comes out of the loop at the batch
/// it belongs to; that of an item says which. Leaving the loop early stops the workers.
template <class Batch>
class DataLoader {
 public:
  /// Throws ArgumentError on a configuration that makes no sense.
  template <DatasetLike D, Batcher<ItemOf<D>> B>
  DataLoader(D dataset, B batcher, const LoaderConfig& config = {}) : config_(checked(config)) {
    const auto shared = share(std::move(dataset));
    items_ = shared->size();
    make_ = maker(shared, std::move(batcher));
  }

  /// Batches in the epoch that the next loop goes through; in each, where neither sampler nor rule of batches decides.
  std::int64_t size() const {
    if (!config_.sampler && !config_.batches) return batch_count(config_, items_);
    if (!batches_ || batches_->first != epoch_) batches_.emplace(epoch_, EpochPlan(config_, items_, epoch_).batches());
    return batches_->second;
  }
  /// See described().
  Json description() const { return described(config_, items_); }
  /// The number of the epoch that the next loop goes through; the first is 0.
  std::int64_t epoch() const { return epoch_; }
  /// Lets the next loop be epoch `epoch`, from batch `first_batch` on: a stopped training goes on where it was.
  void set_epoch(std::int64_t epoch, std::int64_t first_batch = 0) {
    require<ArgumentError>(epoch >= 0 && first_batch >= 0, "data loader: epoch ", epoch, " from batch ", first_batch,
                           " on does not exist");
    epoch_ = epoch;
    first_batch_ = first_batch;
  }

  class Iterator;
  Iterator begin() {
    auto plan = std::make_shared<const EpochPlan>(config_, items_, epoch_);
    const std::int64_t first = std::min(std::exchange(first_batch_, 0), plan->batches());
    const std::int64_t count = plan->batches() - first;
    ++epoch_;
    return Iterator(std::make_unique<Prefetcher<Batch>>(
        [make = make_, plan, first](std::int64_t i) { return make(*plan, first + i); }, count, config_.workers,
        config_.prefetch));
  }
  std::default_sentinel_t end() const { return {}; }

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Batch& operator*() const { return *batch_; }
    Batch* operator->() const { return &*batch_; }
    Iterator& operator++() {
      batch_ = batches_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !batch_; }

   private:
    friend DataLoader;
    explicit Iterator(std::unique_ptr<Prefetcher<Batch>> batches) : batches_(std::move(batches)) { ++*this; }
    std::unique_ptr<Prefetcher<Batch>> batches_;
    mutable std::optional<Batch> batch_;
  };

 private:
  template <class Item, class B>
  static std::function<Batch(const EpochPlan&, std::int64_t)> maker(DatasetPtr<Item> dataset, B batcher) {
    return [dataset = std::move(dataset), batcher = std::move(batcher)](const EpochPlan& plan, std::int64_t batch) {
      std::vector<Item> items;
      std::vector<Key> keys;
      for (const auto index : plan.indices(batch)) {
        naming_item(index, [&] { items.push_back(dataset->get(index)); });
        keys.push_back(plan.item_key(index));
      }
      if constexpr (KeyedBatcher<B, Item>) return batcher(std::span<const Item>(items), std::span<const Key>(keys));
      else return batcher(std::span<const Item>(items));
    };
  }

  LoaderConfig config_;
  std::int64_t items_ = 0, epoch_ = 0, first_batch_ = 0;
  mutable std::optional<std::pair<std::int64_t, std::int64_t>> batches_;  // of an epoch, once asked for
  std::function<Batch(const EpochPlan&, std::int64_t batch)> make_;
};

/// DataLoader(dataset, batcher) makes the batches that the batcher returns.
template <DatasetLike D, PlainBatcher<ItemOf<D>> B>
DataLoader(D, B, LoaderConfig = {}) -> DataLoader<std::invoke_result_t<const B&, std::span<const ItemOf<D>>>>;
template <DatasetLike D, KeyedBatcher<ItemOf<D>> B>
DataLoader(D, B, LoaderConfig = {})
    -> DataLoader<std::invoke_result_t<const B&, std::span<const ItemOf<D>>, std::span<const Key>>>;

}  // namespace kiln
