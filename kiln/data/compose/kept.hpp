// Data sets whose items are kept in memory once they are computed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/data/dataset.hpp"

namespace kiln {

/// Computes all items at once: data sets that read files on access read everything here, and report errors now.
template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> collected(D dataset) {
  const auto shared = share(std::move(dataset));
  std::vector<ItemOf<D>> items;
  items.reserve(static_cast<std::size_t>(shared->size()));
  for_each_item(*shared, [&](std::int64_t, auto&& item) { items.push_back(static_cast<ItemOf<D>&&>(item)); });
  return in_memory(std::move(items));
}

/// Computes each item on first access. An item whose computation failed is tried again at the next call.
template <class T>
class Cached final : public Dataset<T> {
 public:
  explicit Cached(DatasetPtr<T> from) : from_(std::move(from)), slots_(static_cast<std::size_t>(from_->size())) {}
  std::int64_t size() const override { return from_->size(); }

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<T> item;
  };
  T item(std::int64_t index) const override {
    Slot& slot = slots_[static_cast<std::size_t>(index)];
    const std::lock_guard lock(slot.mutex);
    if (!slot.item) slot.item = from_->get(index);
    return *slot.item;
  }
  std::vector<T> items(std::span<const std::int64_t> indices, std::size_t& at) const override {
    std::vector<std::int64_t> missing;
    {
      // Slots are locked in ascending order, so that no two threads wait for each other.
      std::vector<std::unique_lock<std::mutex>> locks;
      for (const std::size_t position : in_ascending_order(indices)) {
        if (!missing.empty() && missing.back() == indices[position]) continue;
        Slot& slot = slots_[static_cast<std::size_t>(indices[position])];
        std::unique_lock lock(slot.mutex);
        if (slot.item) continue;
        locks.push_back(std::move(lock));
        missing.push_back(indices[position]);
      }
      fill(missing, indices, at);
    }
    std::vector<T> found;
    found.reserve(indices.size());
    // An item that is there never changes, and its lock was held above.
    for (const auto index : indices) found.push_back(*slots_[static_cast<std::size_t>(index)].item);
    return found;
  }
  void fill(std::span<const std::int64_t> missing, std::span<const std::int64_t> indices, std::size_t& at) const {
    std::size_t inner = 0;
    std::vector<T> made;
    try {
      made = from_->get_many(missing, &inner);
    } catch (...) {
      if (inner < missing.size())
        at = static_cast<std::size_t>(std::ranges::find(indices, missing[inner]) - indices.begin());
      throw;
    }
    for (std::size_t i = 0; auto&& item : made)
      slots_[static_cast<std::size_t>(missing[i++])].item.emplace(static_cast<T&&>(item));
  }
  DatasetPtr<T> from_;
  mutable std::vector<Slot> slots_;
};

/// The data set, with items that are computed once and kept: decoded images, tokenized texts.
template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> cached(D dataset) {
  return std::make_shared<const Cached<ItemOf<D>>>(share(std::move(dataset)));
}

}  // namespace kiln
