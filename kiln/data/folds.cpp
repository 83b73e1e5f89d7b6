#include "kiln/data/folds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln {
namespace {

void require_folds(std::int64_t items, std::int64_t k) {
  require<ArgumentError>(k >= 2 && k <= items, "k-fold: ", k, " folds of ", items,
                         " items; there must be at least 2, and no more than items");
}

/// The items of each class in a random order.
std::vector<std::vector<std::int64_t>> shuffled_classes(std::span<const std::int64_t> classes, std::uint64_t seed) {
  std::vector<std::vector<std::int64_t>> members;
  for (const std::int64_t item : permutation(static_cast<std::int64_t>(classes.size()), Key{seed})) {
    const std::int64_t label = classes[static_cast<std::size_t>(item)];
    require<ArgumentError>(label >= 0 && label < static_cast<std::int64_t>(classes.size()), "stratified: the class ",
                           label, " of item ", item, "; classes are numbers from 0 to below the number of items");
    if (label >= std::ssize(members)) members.resize(static_cast<std::size_t>(label) + 1);
    members[static_cast<std::size_t>(label)].push_back(item);
  }
  return members;
}

FoldIndices sorted(FoldIndices parts) {
  for (auto& part : parts) std::ranges::sort(part);
  return parts;
}

/// How many of `count` items each part gets: the floor of its share, and the rest by the largest remainders; of equal
/// ones those parts come first that other classes left the furthest below their share.
std::vector<std::int64_t> apportioned(std::int64_t count, std::span<const double> shares, std::vector<double>& owed) {
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double exact = shares[i] * static_cast<double>(count);
    counts.push_back(static_cast<std::int64_t>(std::floor(exact + 1e-9)));
    owed[i] += exact - static_cast<double>(counts[i]);
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return owed[i]; });
  const std::int64_t left = count - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < left; ++i) {  // fewer than there are parts
    const std::size_t next = order[static_cast<std::size_t>(i)];
    ++counts[next];
    owed[next] -= 1;
  }
  return counts;
}

}  // namespace

FoldIndices fold_indices(std::int64_t items, std::int64_t k, std::uint64_t seed) {
  require_folds(items, k);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < k; ++i) sizes.push_back(items / k + (i < items % k));
  return sorted(split_permutation(items, sizes, Key{seed}));
}

FoldIndices stratified_fold_indices(std::span<const std::int64_t> classes, std::int64_t k, std::uint64_t seed) {
  require_folds(static_cast<std::int64_t>(classes.size()), k);
  FoldIndices parts(static_cast<std::size_t>(k));
  std::size_t next = 0;  // the classes follow each other, so that sizes differ by at most 1, too
  const auto members = shuffled_classes(classes, seed);
  for (std::size_t label = 0; label < members.size(); ++label) {
    require<ArgumentError>(members[label].empty() || std::ssize(members[label]) >= k, "stratified k-fold: class ",
                           label, " has ", members[label].size(), " items, fewer than ", k, " folds");
    for (const std::int64_t item : members[label]) parts[next++ % parts.size()].push_back(item);
  }
  return sorted(std::move(parts));
}

FoldIndices stratified_split_indices(std::span<const std::int64_t> classes, std::span<const double> shares,
                                     std::uint64_t seed) {
  double sum = 0;
  for (const double share : shares) {
    require<ArgumentError>(share >= 0 && share <= 1, "stratified split: a share of ", share,
                           "; shares are from 0 to 1");
    sum += share;
  }
  require<ArgumentError>(std::abs(sum - 1) < 1e-9, "stratified split: the shares add up to ", sum, ", not to 1");
  FoldIndices parts(shares.size());
  std::vector<double> owed(shares.size());
  for (const auto& members : shuffled_classes(classes, seed)) {
    auto item = members.begin();
    const auto counts = apportioned(std::ssize(members), shares, owed);
    for (std::size_t i = 0; i < counts.size(); item += counts[i++])
      parts[i].insert(parts[i].end(), item, item + counts[i]);
  }
  return sorted(std::move(parts));
}

std::vector<std::int64_t> detail::all_but(const FoldIndices& parts, std::size_t left_out) {
  std::vector<std::int64_t> rest;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i != left_out) rest.insert(rest.end(), parts[i].begin(), parts[i].end());
  std::ranges::sort(rest);
  return rest;
}

}  // namespace kiln
