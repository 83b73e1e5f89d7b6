// Splits of a data set for cross-validation, and splits that keep the shares of classes.
//
//   for (const auto& [train, valid] : k_fold(houses, 5, /*seed=*/1)) ...
//   for (const auto& [train, valid] : stratified_k_fold(digits, &Image::label, 5, 1)) ...
//   const auto [train, valid] = stratified_split(digits, &Image::label, {0.8, 0.2}, 1);
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/data/dataset.hpp"

namespace kiln {

/// Data to train on, and data to measure on.
template <class T>
struct Fold {
  DatasetPtr<T> train, valid;
};

/// The items that each of k folds measures on, ascending.
using FoldIndices = std::vector<std::vector<std::int64_t>>;

/// k parts of 0 ... items - 1 at random, of sizes that differ by at most 1, larger ones first. Throws ArgumentError
/// unless 2 <= k <= items.
FoldIndices fold_indices(std::int64_t items, std::int64_t k, std::uint64_t seed);
/// k parts in which each class, a number from 0, has shares that differ by at most 1 item, and whose sizes differ by at
/// most 1. Throws ArgumentError as above, and for a class that has fewer than k items.
FoldIndices stratified_fold_indices(std::span<const std::int64_t> classes, std::int64_t k, std::uint64_t seed);
/// Parts of these shares, which add up to 1; each class has the share of its items, rounded so that all are used.
/// Throws ArgumentError.
FoldIndices stratified_split_indices(std::span<const std::int64_t> classes, std::span<const double> shares,
                                     std::uint64_t seed);

/// label(item), for each item, as a number from 0 in the order of the labels, which can be anything that has an order.
/// Reads all items. Throws DataError for a label that is NaN.
template <DatasetLike D, class Label>
std::vector<std::int64_t> classes_of(const D& dataset, Label label) {
  const auto shared = share(dataset);
  using Key = std::decay_t<std::invoke_result_t<Label&, ItemOf<D>&>>;
  std::vector<Key> labels;
  for_each_item(*shared, [&](std::int64_t i, auto&& item) {
    labels.push_back(std::invoke(label, item));
    if constexpr (std::is_floating_point_v<Key>)
      require<DataError>(!std::isnan(labels.back()), "classes: the label of item ", i, " is NaN, which has no order");
  });
  std::map<Key, std::int64_t> numbers;
  for (const Key& key : labels) numbers.emplace(key, 0);
  std::int64_t next = 0;
  for (auto& [key, number] : numbers) number = next++;
  std::vector<std::int64_t> classes;
  for (const Key& key : labels) classes.push_back(numbers.at(key));
  return classes;
}

namespace detail {

/// The indices of all parts but one, ascending.
std::vector<std::int64_t> all_but(const FoldIndices& parts, std::size_t left_out);

template <class T>
std::vector<Fold<T>> folds_of(const DatasetPtr<T>& dataset, const FoldIndices& parts) {
  std::vector<Fold<T>> folds;
  for (std::size_t i = 0; i < parts.size(); ++i)
    folds.push_back({subset(dataset, all_but(parts, i)), subset(dataset, parts[i])});
  return folds;
}

}  // namespace detail

/// k folds, the same for the same seed: each item is measured on in one of them, and trained on in the others. Throws
/// ArgumentError unless 2 <= k <= items.
template <DatasetLike D>
[[nodiscard("a data set is not changed: new ones are returned")]] std::vector<Fold<ItemOf<D>>> k_fold(
    D dataset, std::int64_t k, std::uint64_t seed) {
  const auto shared = share(std::move(dataset));
  return detail::folds_of(shared, fold_indices(shared->size(), k, seed));
}

/// k folds that have the same shares of classes; label(item), a function or a member, is the class of an item. Throws
/// ArgumentError also for a class with fewer than k items.
template <DatasetLike D, class Label>
[[nodiscard("a data set is not changed: new ones are returned")]] std::vector<Fold<ItemOf<D>>> stratified_k_fold(
    D dataset, Label label, std::int64_t k, std::uint64_t seed) {
  const auto shared = share(std::move(dataset));
  return detail::folds_of(shared, stratified_fold_indices(classes_of(shared, label), k, seed));
}

/// Disjoint random parts of these shares, which add up to 1, each with the same shares of classes. Throws ArgumentError.
template <DatasetLike D, class Label, std::size_t Parts>
[[nodiscard("a data set is not changed: new ones are returned")]] std::array<DatasetPtr<ItemOf<D>>, Parts>
stratified_split(D dataset, Label label, const double (&shares)[Parts], std::uint64_t seed) {
  const auto shared = share(std::move(dataset));
  const FoldIndices indices = stratified_split_indices(classes_of(shared, label), shares, seed);
  std::array<DatasetPtr<ItemOf<D>>, Parts> parts;
  for (std::size_t i = 0; i < Parts; ++i) parts[i] = subset(shared, indices[i]);
  return parts;
}

}  // namespace kiln
