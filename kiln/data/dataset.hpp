// A data set is a size and a function from an index to an item. The functions below create one from another:
//
//   auto [train, valid] = split(digits, {50'000, 10'000}, /*seed=*/1);
//   auto bright = mapped(train, [](Image image) { ...; return image; });
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

 protected:
  Dataset() = default;
  Dataset(const Dataset&) = default;
  Dataset(Dataset&&) = default;
  Dataset& operator=(const Dataset&) = default;
  Dataset& operator=(Dataset&&) = default;

 private:
  /// `index` is in range.
  virtual T item(std::int64_t index) const = 0;
};

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
  DatasetPtr<T> from_;
  std::vector<std::int64_t> indices_;
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
