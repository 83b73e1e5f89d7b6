// Folds and stratified splits: every item is in its place once, and the shares are what arithmetic says.
#include "kiln/data/folds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

std::vector<std::int64_t> all_of(const FoldIndices& parts) {
  std::vector<std::int64_t> all;
  for (const auto& part : parts) {
    EXPECT_TRUE(std::ranges::is_sorted(part));
    all.insert(all.end(), part.begin(), part.end());
  }
  std::ranges::sort(all);
  return all;
}
std::vector<std::int64_t> up_to(std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}
std::int64_t count_of(const std::vector<std::int64_t>& part, const std::vector<std::int64_t>& classes,
                      std::int64_t label) {
  return std::ranges::count_if(part, [&](std::int64_t i) { return classes[static_cast<std::size_t>(i)] == label; });
}
/// 13 of class 0, 7 of class 1, 30 of class 2, interleaved.
std::vector<std::int64_t> uneven() {
  std::vector<std::int64_t> classes(50, 2);
  for (std::size_t i = 0; i < 13; ++i) classes[i * 3] = 0;
  for (std::size_t i = 0; i < 7; ++i) classes[i * 7 + 1] = 1;
  return classes;
}

TEST(Folds, HaveTheSizesOfScikitLearn) {
  // KFold(4) of 10 items: 3, 3, 2, 2.
  const FoldIndices parts = fold_indices(10, 4, 1);
  std::vector<std::size_t> sizes;
  for (const auto& part : parts) sizes.push_back(part.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3, 2, 2}));
  EXPECT_EQ(all_of(parts), up_to(10));
  EXPECT_EQ(parts, fold_indices(10, 4, 1));
  EXPECT_NE(parts, fold_indices(10, 4, 2));
}

TEST(Folds, StratifiedOnesHaveEvenShares) {
  const auto classes = uneven();
  for (const std::int64_t k : {2, 3, 5, 7}) {
    const FoldIndices parts = stratified_fold_indices(classes, k, 4);
    EXPECT_EQ(all_of(parts), up_to(50));
    for (const auto& part : parts) {
      EXPECT_LE(std::abs(static_cast<double>(part.size()) - 50.0 / static_cast<double>(k)), 1);
      for (const std::int64_t label : {0, 1, 2}) {
        const double exact = static_cast<double>(std::ranges::count(classes, label)) / static_cast<double>(k);
        EXPECT_LT(std::abs(static_cast<double>(count_of(part, classes, label)) - exact), 1) << k << ' ' << label;
      }
    }
  }
}

TEST(Folds, StratifiedSplitsHaveTheirShares) {
  const auto classes = uneven();
  for (const std::vector<double>& shares :
       {std::vector<double>{0.8, 0.2}, {0.5, 0.25, 0.25}, {1, 0}, {0.34, 0.33, 0.33}}) {
    const FoldIndices parts = stratified_split_indices(classes, shares, 9);
    EXPECT_EQ(all_of(parts), up_to(50));
    for (std::size_t i = 0; i < shares.size(); ++i)
      for (const std::int64_t label : {0, 1, 2}) {
        const double exact = shares[i] * static_cast<double>(std::ranges::count(classes, label));
        EXPECT_LE(std::abs(static_cast<double>(count_of(parts[i], classes, label)) - exact), 1 + 1e-9);
      }
  }
}

TEST(Folds, OfADataSet) {
  struct Named {
    std::string kind;
    int number;
  };
  std::vector<Named> items;
  for (int i = 0; i < 12; ++i) items.push_back({i % 3 ? "owl" : "cat", i});
  const auto set = in_memory(items);
  EXPECT_EQ(classes_of(set, &Named::kind), (std::vector<std::int64_t>{0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1}));
  std::multiset<int> measured;
  for (const auto& [train, valid] : stratified_k_fold(set, &Named::kind, 4, 1)) {
    std::set<int> both;
    int cats = 0;
    for_each_item(*valid, [&](std::int64_t, const Named& item) {
      measured.insert(item.number);
      both.insert(item.number);
      cats += item.kind == "cat";
    });
    for_each_item(*train, [&](std::int64_t, const Named& item) { both.insert(item.number); });
    EXPECT_EQ(cats, 1);
    EXPECT_EQ(both.size(), 12u);
    EXPECT_EQ(train->size() + valid->size(), 12);
  }
  EXPECT_EQ(measured.size(), 12u);
  EXPECT_EQ(std::set<int>(measured.begin(), measured.end()).size(), 12u);
  EXPECT_EQ(k_fold(set, 3, 1).size(), 3u);
  const auto [train, valid] = stratified_split(set, [](const Named& n) { return n.kind; }, {0.75, 0.25}, 1);
  EXPECT_EQ(train->size(), 9);
  EXPECT_EQ(valid->size(), 3);
}

TEST(Folds, RefuseWhatCannotBe) {
  const auto fails = [](auto f) { return test::raised<ArgumentError>(f); };
  const std::vector<std::int64_t> classes = {0, 0, 0, 1};
  EXPECT_EQ(fails([] { (void)fold_indices(3, 4, 0); }),
            "k-fold: 4 folds of 3 items; there must be at least 2, and no more than items");
  EXPECT_EQ(fails([] { (void)fold_indices(3, 1, 0); }),
            "k-fold: 1 folds of 3 items; there must be at least 2, and no more than items");
  EXPECT_EQ(fails([&] { (void)stratified_fold_indices(classes, 2, 0); }),
            "stratified k-fold: class 1 has 1 items, fewer than 2 folds");
  EXPECT_EQ(fails([] { (void)stratified_fold_indices(std::vector<std::int64_t>{0, -1}, 2, 0); }),
            "stratified: the class -1 of item 1; classes are numbers from 0 to below the number of items");
  EXPECT_EQ(fails([&] { (void)stratified_split_indices(classes, std::vector{0.5, 0.4}, 0); }),
            "stratified split: the shares add up to 0.9, not to 1");
  EXPECT_EQ(fails([&] { (void)stratified_split_indices(classes, std::vector{1.5, -0.5}, 0); }),
            "stratified split: a share of 1.5; shares are from 0 to 1");
  const auto numbers = in_memory(std::vector<double>{1, std::nan(""), 2});
  EXPECT_EQ(test::raised<DataError>([&] { (void)classes_of(numbers, [](double x) { return x; }); }),
            "classes: the label of item 1 is NaN, which has no order");
}

}  // namespace
}  // namespace kiln
