// A data set is a size and a function from an index to an item. The functions below create one from another:
//
//   auto [train, valid] = split(digits, {50'000, 10'000}, /*seed=*/1);
//   auto bright = mapped(train, [](Image image) { ...; return image; });
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/data/permutation.hpp"

namespace kiln {

template <class T>
class Dataset {
 public:
  using Item = T;
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;

  /// Item `index`, the same at every call; may be called from several threads. Throws IndexError, MemoryError.
  T get(std::int64_t index) const {
    require<IndexError>(index >= 0 && index < size(), "data set: item ", index, " of ", size(), " does not exist");
    return or_memory_error("data set", [&] { return item(index); });
  }

  /// The items at `indices`, in that order: the same as by get(), and faster from data sets that read many items at once
  /// (Parquet, SQLite). An index may occur more than once. If an item fails, its error is thrown, and `*at` is its
  /// position in `indices`. May be called from several threads. Throws IndexError, MemoryError.
  std::vector<T> get_many(std::span<const std::int64_t> indices, std::size_t* at = nullptr) const {
    std::size_t unread = 0, &position = at ? *at : unread;
    const std::int64_t all = size();
    for (position = 0; position < indices.size(); ++position)
      require<IndexError>(indices[position] >= 0 && indices[position] < all, "data set: item ", indices[position],
                          " of ", all, " does not exist");
    position = 0;
    return or_memory_error("data set", [&] { return items(indices, position); });
  }

 protected:
  Dataset() = default;
  Dataset(const Dataset&) = default;
  Dataset(Dataset&&) = default;
  Dataset& operator=(const Dataset&) = default;
  Dataset& operator=(Dataset&&) = default;

  /// All indices are in range. `at` is the position of the item in progress, for the error of whoever asked.
  virtual std::vector<T> items(std::span<const std::int64_t> indices, std::size_t& at) const {
    std::vector<T> found;
    found.reserve(indices.size());
    for (at = 0; at < indices.size(); ++at) found.push_back(item(indices[at]));
    return found;
  }

 private:
  /// `index` is in range.
  virtual T item(std::int64_t index) const = 0;
};

/// Calls function(index, item) for all items in order, which are read 16 at once.
template <class T, class Function>
void for_each_item(const Dataset<T>& dataset, Function function) {
  constexpr std::int64_t kAtOnce = 16;
  std::vector<std::int64_t> indices;
  for (std::int64_t first = 0; first < dataset.size(); first += kAtOnce) {
    indices.resize(static_cast<std::size_t>(std::min(kAtOnce, dataset.size() - first)));
    std::iota(indices.begin(), indices.end(), first);
    auto items = dataset.get_many(indices);
    for (std::int64_t i = first; auto&& item : items) function(i++, static_cast<T&&>(item));
  }
}

/// Data sets are passed as shared pointers, and are immutable.
template <class T>
using DatasetPtr = std::shared_ptr<const Dataset<T>>;

/// Turns a data set into a shared pointer, so that the functions below and DataLoader accept either.
template <class D>
requires std::derived_from<D, Dataset<typename D::Item>> DatasetPtr<typename D::Item> share(D dataset) {
  return or_memory_error("data set", [&] { return std::make_shared<const D>(std::move(dataset)); });
}
template <class D>
requires std::derived_from<D, Dataset<typename D::Item>>
DatasetPtr<typename D::Item> share(std::shared_ptr<D> dataset) {
  return dataset;
}

/// A data set, or a shared pointer to one.
template <class D>
concept DatasetLike = requires(D dataset) { share(std::move(dataset)); };
template <DatasetLike D>
using ItemOf = typename decltype(share(std::declval<D>()))::element_type::Item;

/// The items of a vector.
template <class T>
class InMemory final : public Dataset<T> {
 public:
  explicit InMemory(std::vector<T> items) : items_(std::move(items)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(items_.size()); }

 private:
  T item(std::int64_t index) const override { return items_[static_cast<std::size_t>(index)]; }
  std::vector<T> items_;
};

/// function(item) for each item, computed on access. The function is called from several threads.
template <class From, class Function>
class Mapped final : public Dataset<std::invoke_result_t<const Function&, From>> {
 public:
  using Item = std::invoke_result_t<const Function&, From>;
  Mapped(DatasetPtr<From> from, Function function) : from_(std::move(from)), function_(std::move(function)) {}
  std::int64_t size() const override { return from_->size(); }

 private:
  Item item(std::int64_t index) const override { return std::invoke(function_, from_->get(index)); }
  std::vector<Item> items(std::span<const std::int64_t> indices, std::size_t& at) const override {
    auto from = from_->get_many(indices, &at);
    std::vector<Item> found;
    found.reserve(indices.size());
    at = 0;
    for (auto&& each : from) {
      found.push_back(std::invoke(function_, static_cast<From&&>(each)));
      ++at;
    }
    return found;
  }
  DatasetPtr<From> from_;
  Function function_;
};

/// The items of another data set at `indices`, in that order; an index may occur more than once.
template <class T>
class Subset final : public Dataset<T> {
 public:
  /// Throws IndexError if an index is out of range.
  Subset(DatasetPtr<T> from, std::vector<std::int64_t> indices) : from_(std::move(from)), indices_(std::move(indices)) {
    for (const auto index : indices_)
      require<IndexError>(index >= 0 && index < from_->size(), "subset: item ", index, " of ", from_->size(),
                          " does not exist");
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }

 private:
  T item(std::int64_t index) const override { return from_->get(indices_[static_cast<std::size_t>(index)]); }
  std::vector<T> items(std::span<const std::int64_t> indices, std::size_t& at) const override {
    std::vector<std::int64_t> inner;
    for (const auto index : indices) inner.push_back(indices_[static_cast<std::size_t>(index)]);
    return from_->get_many(inner, &at);
  }
  DatasetPtr<T> from_;
  std::vector<std::int64_t> indices_;
};

/// The items of get_many() while they come from other data sets, in another order.
template <class T>
class Places {
 public:
  explicit Places(std::size_t count) : places_(count) {}
  void put(std::size_t position, T item) { places_[position].emplace(std::move(item)); }
  /// Item i of from.get_many(indices) comes to positions[i]; `at` becomes the position of one that fails.
  void put(const Dataset<T>& from, std::span<const std::int64_t> indices, std::span<const std::size_t> positions,
           std::size_t& at) {
    std::size_t inner = 0;
    std::vector<T> items;
    try {
      items = from.get_many(indices, &inner);
    } catch (...) {
      if (inner < positions.size()) at = positions[inner];
      throw;
    }
    for (std::size_t i = 0; auto&& item : items) put(positions[i++], static_cast<T&&>(item));
  }
  std::vector<T> take() {
    std::vector<T> items;
    items.reserve(places_.size());
    for (auto& place : places_) items.push_back(std::move(*place));
    return items;
  }

 private:
  std::vector<std::optional<T>> places_;
};

/// Data sets joined one after the other.
template <class T>
class Concatenated final : public Dataset<T> {
 public:
  explicit Concatenated(std::vector<DatasetPtr<T>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) size_ += part->size();
  }
  std::int64_t size() const override { return size_; }

 private:
  T item(std::int64_t index) const override {
    auto part = parts_.begin();
    while (index >= (*part)->size()) index -= (*part++)->size();
    return (*part)->get(index);
  }
  std::vector<T> items(std::span<const std::int64_t> indices, std::size_t& at) const override {
    std::vector<std::vector<std::size_t>> positions(parts_.size());
    std::vector<std::vector<std::int64_t>> inner(parts_.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::int64_t index = indices[i];
      std::size_t part = 0;
      while (index >= parts_[part]->size()) index -= parts_[part++]->size();
      positions[part].push_back(i);
      inner[part].push_back(index);
    }
    Places<T> found(indices.size());
    for (std::size_t part = 0; part < parts_.size(); ++part)
      if (!inner[part].empty()) found.put(*parts_[part], inner[part], positions[part], at);
    return found.take();
  }
  std::vector<DatasetPtr<T>> parts_;
  std::int64_t size_ = 0;
};

template <class T>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<T> in_memory(std::vector<T> items) {
  return share(InMemory<T>(std::move(items)));
}

template <DatasetLike D, class Function>
[[nodiscard("a data set is not changed: a new one is returned")]] auto mapped(D dataset, Function function) {
  return share(Mapped<ItemOf<D>, Function>(share(std::move(dataset)), std::move(function)));
}

template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> subset(
    D dataset, std::vector<std::int64_t> indices) {
  return share(Subset<ItemOf<D>>(share(std::move(dataset)), std::move(indices)));
}

/// All items in an order that depends on the seed.
template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> shuffled(D dataset,
                                                                                                 std::uint64_t seed) {
  const auto shared = share(std::move(dataset));
  return subset(shared, permutation(shared->size(), Key{seed}));
}

/// Disjoint random parts of these sizes, the same for the same seed. Throws ArgumentError if sizes are negative or add
/// up to more than there are.
template <DatasetLike D, std::size_t Parts>
[[nodiscard("a data set is not changed: a new one is returned")]] std::array<DatasetPtr<ItemOf<D>>, Parts> split(
    D dataset, const std::int64_t (&sizes)[Parts], std::uint64_t seed) {
  const auto shared = share(std::move(dataset));
  const auto indices = split_permutation(shared->size(), sizes, Key{seed});
  std::array<DatasetPtr<ItemOf<D>>, Parts> parts;
  for (std::size_t i = 0; i < Parts; ++i) parts[i] = subset(shared, indices[i]);
  return parts;
}

/// concatenated(a, b, ...): data sets of the same type of items, one after the other.
template <DatasetLike D, DatasetLike... More>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> concatenated(D first,
                                                                                                     More... more) {
  return share(Concatenated<ItemOf<D>>({share(std::move(first)), share(std::move(more))...}));
}

}  // namespace kiln
