// Data sets whose items are kept in memory once they are computed.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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
  for (std::int64_t i = 0; i < shared->size(); ++i) items.push_back(shared->get(i));
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
  DatasetPtr<T> from_;
  mutable std::vector<Slot> slots_;
};

/// The data set, with items that are computed once and kept: decoded images, tokenized texts.
template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> cached(D dataset) {
  return std::make_shared<const Cached<ItemOf<D>>>(share(std::move(dataset)));
}

}  // namespace kiln
