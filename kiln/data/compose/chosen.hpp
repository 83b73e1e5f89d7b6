// Data sets of items that are sampled, or selected by a predicate.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/data/dataset.hpp"

namespace kiln {

/// `count` of the numbers below `items`, in a random order: each at most once, or, with `replacement`, each sampled
/// among all of them. Throws ArgumentError for more than there are.
std::vector<std::int64_t> sample_indices(std::int64_t items, std::int64_t count, bool replacement, Key key);

/// `count` independent samples of 0 to weights.size() - 1, each with a probability proportional to its weight. Throws
/// ArgumentError for weights that are negative or not finite, or all 0.
std::vector<std::int64_t> sample_weighted(std::span<const double> weights, std::int64_t count, Key key);
[[deprecated("draw() is now sample_indices()")]] inline std::vector<std::int64_t> draw(std::int64_t items,
                                                                                       std::int64_t count,
                                                                                       bool replacement, Key key) {
  return sample_indices(items, count, replacement, key);
}
[[deprecated("draw_weighted() is now sample_weighted()")]] inline std::vector<std::int64_t> draw_weighted(
    std::span<const double> weights, std::int64_t count, Key key) {
  return sample_weighted(weights, count, key);
}

/// `count` items, sampled once: the same in every pass. A loader's Sampler samples again in each epoch.
template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> sampled(
    D dataset, std::int64_t count, std::uint64_t seed, bool replacement = false) {
  const auto shared = share(std::move(dataset));
  return subset(shared, sample_indices(shared->size(), count, replacement, Key{seed}));
}

/// The items for which `predicate` holds; evaluates it for every item at once.
template <DatasetLike D, class Predicate>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> filtered(D dataset,
                                                                                                 Predicate predicate) {
  const auto shared = share(std::move(dataset));
  std::vector<std::int64_t> kept;
  for_each_item(*shared, [&](std::int64_t i, auto&& item) {
    if (std::invoke(predicate, static_cast<ItemOf<D>&&>(item))) kept.push_back(i);
  });
  return subset(shared, std::move(kept));
}

/// Pairs of the items of two data sets.
template <class A, class B>
class Zipped final : public Dataset<std::pair<A, B>> {
 public:
  /// Throws ArgumentError if their sizes differ.
  Zipped(DatasetPtr<A> first, DatasetPtr<B> second) : first_(std::move(first)), second_(std::move(second)) {
    require<ArgumentError>(first_->size() == second_->size(), "zipped: data sets of ", first_->size(), " and ",
                           second_->size(), " items");
  }
  std::int64_t size() const override { return first_->size(); }

 private:
  std::pair<A, B> item(std::int64_t index) const override { return {first_->get(index), second_->get(index)}; }
  std::vector<std::pair<A, B>> items(std::span<const std::int64_t> indices, std::size_t& at) const override {
    auto first = first_->get_many(indices, &at);
    auto second = second_->get_many(indices, &at);
    std::vector<std::pair<A, B>> pairs;
    pairs.reserve(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) pairs.emplace_back(std::move(first[i]), std::move(second[i]));
    return pairs;
  }
  DatasetPtr<A> first_;
  DatasetPtr<B> second_;
};

template <DatasetLike A, DatasetLike B>
[[nodiscard("a data set is not changed: a new one is returned")]] auto zipped(A first, B second) {
  return share(Zipped<ItemOf<A>, ItemOf<B>>(share(std::move(first)), share(std::move(second))));
}

/// Items that a function generates from random numbers, for tests and benchmarks: item i is function(key of i).
template <class Function>
class Generated final : public Dataset<std::invoke_result_t<const Function&, Key>> {
 public:
  using Item = std::invoke_result_t<const Function&, Key>;
  /// Throws ArgumentError for a negative count.
  Generated(std::int64_t count, std::uint64_t seed, Function function)
      : size_(count), key_{seed}, function_(std::move(function)) {
    require<ArgumentError>(count >= 0, "generated: a data set cannot have ", count, " items");
  }
  std::int64_t size() const override { return size_; }

 private:
  Item item(std::int64_t index) const override {
    return std::invoke(function_, key_.split(static_cast<std::uint64_t>(index)));
  }
  std::int64_t size_;
  Key key_;
  Function function_;
};

/// generated(1000, 7, [](Key key) { ... }).
template <class Function>
auto generated(std::int64_t count, std::uint64_t seed, Function function) {
  return share(Generated<Function>(count, seed, std::move(function)));
}

}  // namespace kiln
