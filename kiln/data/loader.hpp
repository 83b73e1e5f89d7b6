// Iterates over a data set in batches that worker threads prepare in advance:
//
//   DataLoader loader(train, ImageBatcher{}, {.batch_size = 64, .shuffle = true, .seed = 7, .workers = 2});
//   for (auto& batch : loader) step(batch.images, batch.targets);
//
// Each such loop is one epoch, and the next one has another order. The contents of a batch depend on (seed, epoch,
// position) alone: the number of workers only changes the speed.
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
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/data/batcher.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/prefetch.hpp"
#include "kiln/data/sampler.hpp"

namespace kiln {

struct LoaderConfig {
  std::int64_t batch_size = 32;
  bool shuffle = false;    // a new order in every epoch; otherwise the order of the data set
  std::uint64_t seed = 0;  // determines the orders, and the keys of batchers
  int workers = 0;         // threads that prepare batches; with 0, the loop's own thread does
  int prefetch = 4;        // batches prepared in advance, at least one for each worker
  bool drop_last = false;  // leaves out a last batch that is smaller than the others
  Sampler sampler = {};    // another kind of order, instead of `shuffle`
  BatchRule batches = {};  // another kind of batches, instead of `batch_size` and `drop_last`
};

/// Returns the configuration. Throws ArgumentError if it is invalid.
LoaderConfig checked(const LoaderConfig& config);

/// The number of batches in an epoch of `items` items, without a sampler and a rule of batches.
std::int64_t batch_count(const LoaderConfig& config, std::int64_t items);

/// The items of one epoch, batch by batch, and their random keys.
class EpochPlan {
 public:
  /// Throws IndexError if the sampler gives an item that does not exist, ArgumentError for invalid batches.
  EpochPlan(const LoaderConfig& config, std::int64_t items, std::int64_t epoch);

  std::int64_t batches() const { return batches_; }
  /// The number of items, also of those that drop_last leaves out.
  std::int64_t items() const;
  /// The items of a batch, as indices into the data set.
  std::span<const std::int64_t> indices(std::int64_t batch) const;
  /// The key of random changes of item `index`: a function of (seed, epoch, index).
  Key item_key(std::int64_t index) const { return items_key_.split(static_cast<std::uint64_t>(index)); }

 private:
  std::int64_t batch_size_, batches_ = 0;
  bool cut_;  // does `ends_` say where batches end?
  Key items_key_;
  std::vector<std::int64_t> order_, ends_;
};

/// A description of what determines the contents of batches, as far as it can be written down: the order of a sampler
/// or rule of batches as a digest of the first epoch. It tells whether a loader has changed.
Json described(const LoaderConfig& config, std::int64_t items);

/// Calls `get`, which counts in its argument which of the indices it is at; adds the item of the data set to errors of
/// Kiln that it throws.
void with_item_context(std::span<const std::int64_t> indices, FunctionRef<void(std::size_t& at)> get);

/// The batches of a data set, an input range. An empty data set gives an empty range, and so does one smaller than a
/// batch with drop_last. An error of the data set or the batcher is thrown in the loop at its batch; that of an item
/// names the item. Leaving the loop early stops the workers.
template <class Batch>
class DataLoader {
 public:
  /// Throws ArgumentError for an invalid configuration.
  template <class D, class B>
  DataLoader(D dataset, B batcher, const LoaderConfig& config = {}) : config_(checked(config)) {
    constexpr bool kDataset = DatasetLike<D>;
    static_assert(
        kDataset,
        "DataLoader: the first argument is no data set: put a vector into InMemory, or derive from Dataset<Item>");
    if constexpr (kDataset) {
      using Item = ItemOf<D>;
      static_assert(!HasMethodBatch<B, Item>,
                    "DataLoader: a batcher is called like a function: rename batch() to operator()");
      static_assert(
          HasMethodBatch<B, Item> || BatcherOf<B, Item>,
          "DataLoader: the batcher cannot be called, being const, with std::span<const Item>, or with that and "
          "std::span<const Key>, where Item is what the data set has");
      static_assert(!BatcherOf<B, Item> || !std::same_as<BatchMadeBy<B, Item>, NoBatch>,
                    "DataLoader: the batcher returns nothing; it makes a batch of its items");
      static_assert(!BatcherOf<B, Item> || std::convertible_to<BatchMadeBy<B, Item>, Batch>,
                    "DataLoader: the batcher makes no batches of the type that DataLoader<Batch> names");
      if constexpr (MakesBatches<B, Item, Batch>) {
        const auto shared = share(std::move(dataset));
        items_ = shared->size();
        make_ = maker(shared, std::move(batcher));
      }
    }
  }

  /// The number of batches in the next epoch; without a sampler and a rule of batches, in every epoch.
  std::int64_t size() const {
    if (!config_.sampler && !config_.batches) return batch_count(config_, items_);
    if (!batches_ || batches_->first != epoch_) batches_.emplace(epoch_, EpochPlan(config_, items_, epoch_).batches());
    return batches_->second;
  }
  /// The number of items in the next epoch, also of those that drop_last leaves out.
  std::int64_t items() const {
    if (!config_.sampler && !config_.batches) return items_;
    return EpochPlan(config_, items_, epoch_).items();
  }
  /// See described().
  Json description() const { return described(config_, items_); }
  /// The number of the next loop's epoch; the first is 0.
  std::int64_t epoch() const { return epoch_; }
  /// Makes the next loop epoch `epoch`, from batch `first_batch` on, to resume training.
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
      with_item_context(plan.indices(batch),
                        [&](std::size_t& at) { items = dataset->get_many(plan.indices(batch), &at); });
      for (const auto index : plan.indices(batch)) keys.push_back(plan.item_key(index));
      if constexpr (KeyedBatcher<B, Item>) return batcher(std::span<const Item>(items), std::span<const Key>(keys));
      else return batcher(std::span<const Item>(items));
    };
  }

  LoaderConfig config_;
  std::int64_t items_ = 0, epoch_ = 0, first_batch_ = 0;
  // An epoch and its number of batches, computed on demand.
  mutable std::optional<std::pair<std::int64_t, std::int64_t>> batches_;
  std::function<Batch(const EpochPlan&, std::int64_t batch)> make_;
};

/// DataLoader(dataset, batcher) has the batcher's result as its batches.
template <DatasetLike D, class B>
DataLoader(D, B, LoaderConfig = {}) -> DataLoader<BatchMadeBy<B, ItemOf<D>>>;
template <class D, class B>
DataLoader(D, B, LoaderConfig = {}) -> DataLoader<NoBatch>;

}  // namespace kiln
