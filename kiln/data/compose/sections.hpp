// Consecutive parts of a data set: a range, equal chunks, and sliding windows.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "kiln/data/dataset.hpp"

namespace kiln {

/// `count` items from `first` on.
template <class T>
class Section final : public Dataset<T> {
 public:
  /// Throws IndexError if there are not that many.
  Section(DatasetPtr<T> from, std::int64_t first, std::int64_t count)
      : from_(std::move(from)), first_(first), size_(count) {
    require<IndexError>(first >= 0 && count >= 0 && first <= from_->size() && count <= from_->size() - first,
                        "range: ", count, " items from item ", first, " on do not lie in a data set of ",
                        from_->size());
  }
  std::int64_t size() const override { return size_; }

 private:
  T item(std::int64_t index) const override { return from_->get(first_ + index); }
  std::vector<T> items(std::span<const std::int64_t> indices, std::size_t& at) const override {
    std::vector<std::int64_t> inner;
    for (const auto index : indices) inner.push_back(first_ + index);
    return from_->get_many(inner, &at);
  }
  DatasetPtr<T> from_;
  std::int64_t first_, size_;
};

struct WindowConfig {
  std::int64_t size = 1;
  std::int64_t stride = 1;  // from the start of one window to the start of the next
  bool keep_rest = false;   // adds a smaller window at the end for remaining items
};

/// Throws ArgumentError.
std::int64_t window_count(const WindowConfig& config, std::int64_t items);

/// Lists of consecutive items.
template <class T>
class Windows final : public Dataset<std::vector<T>> {
 public:
  Windows(DatasetPtr<T> from, const WindowConfig& config)
      : from_(std::move(from)), config_(config), size_(window_count(config, from_->size())) {}
  std::int64_t size() const override { return size_; }

 private:
  std::vector<T> item(std::int64_t index) const override {
    const std::int64_t first = index * config_.stride, count = std::min(config_.size, from_->size() - first);
    std::vector<std::int64_t> inner(static_cast<std::size_t>(count));
    std::iota(inner.begin(), inner.end(), first);
    return from_->get_many(inner);
  }
  DatasetPtr<T> from_;
  WindowConfig config_;
  std::int64_t size_;
};

template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> range(D dataset,
                                                                                              std::int64_t first,
                                                                                              std::int64_t count) {
  return share(Section<ItemOf<D>>(share(std::move(dataset)), first, count));
}

/// Splits the data set into `count` consecutive parts, whose sizes differ by at most one. Throws ArgumentError.
template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] std::vector<DatasetPtr<ItemOf<D>>> chunks(
    D dataset, std::int64_t count) {
  require<ArgumentError>(count >= 1, "chunks: a data set cannot be cut into ", count, " parts");
  const auto shared = share(std::move(dataset));
  const std::int64_t each = shared->size() / count, larger = shared->size() % count;
  std::vector<DatasetPtr<ItemOf<D>>> parts;
  for (std::int64_t i = 0; i < count; ++i)
    parts.push_back(range(shared, i * each + std::min(i, larger), each + (i < larger)));
  return parts;
}

/// windows(prices, {.size = 24}): each window of 24 consecutive items. With the stride equal to the size, no item
/// occurs twice.
template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<std::vector<ItemOf<D>>> windows(
    D dataset, const WindowConfig& config) {
  return share(Windows<ItemOf<D>>(share(std::move(dataset)), config));
}

}  // namespace kiln
