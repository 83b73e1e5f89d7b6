#include "kiln/data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "kiln/data/loader.hpp"

#include "tests/data/numbers.hpp"
#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::numbers;
using test::raised;
using Batches = std::vector<std::vector<int>>;

std::vector<int> copied(std::span<const int> items) { return {items.begin(), items.end()}; }

Batches epoch_of(DataLoader<std::vector<int>>& loader) {
  Batches batches;
  for (auto& batch : loader) batches.push_back(std::move(batch));
  return batches;
}

TEST(Sampler, DrawsByWeightAnewInEachEpoch) {
  DataLoader loader(numbers(4), copied, {.batch_size = 100, .seed = 1, .sampler = weighted({0, 1, 1, 0}, 1000)});
  EXPECT_EQ(loader.size(), 10);
  const Batches first = epoch_of(loader), second = epoch_of(loader);
  EXPECT_NE(first, second);
  std::vector<int> counts(4);
  for (const auto& batch : first)
    for (const int item : batch) ++counts[static_cast<std::size_t>(item)];
  EXPECT_EQ(counts[0] + counts[3], 0);
  EXPECT_NEAR(counts[1], 500, 80);  // five standard deviations
  DataLoader wrong(numbers(5), copied, {.sampler = weighted({1, 1})});
  EXPECT_EQ(raised<ArgumentError>([&] { wrong.begin(); }), "weighted: 2 weights for 5 items");
}

TEST(Sampler, ShardsMakeTogetherTheBatchesOfOneProcess) {
  const int ranks = 3;
  DataLoader whole(numbers(40), copied, {.batch_size = 4 * ranks, .seed = 5, .sampler = in_random_order()});
  const Batches expected = epoch_of(whole);
  std::vector<Batches> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    DataLoader part(numbers(40), copied,
                    {.batch_size = 4, .seed = 5, .sampler = sharded(in_random_order(), rank, ranks)});
    parts.push_back(epoch_of(part));
  }
  for (std::size_t batch = 0; batch < expected.size(); ++batch) {
    std::multiset<int> all;
    for (const auto& part : parts) all.insert(part[batch].begin(), part[batch].end());
    std::multiset<int> one(expected[batch].begin(), expected[batch].end());
    // 40 items are 13 for each of three ranks: one of the last batch goes to none.
    if (batch + 1 < expected.size()) EXPECT_EQ(all, one);
    else EXPECT_TRUE(std::ranges::includes(one, all) && one.size() == all.size() + 1);
  }
  EXPECT_EQ(sharded(in_order(), 1, 3, Rest::Repeat)(7, Key{0}), (std::vector<std::int64_t>{1, 4, 0}));
  EXPECT_EQ(sharded(in_order(), 2, 3, Rest::Repeat)(1, Key{0}), (std::vector<std::int64_t>{0}));
  EXPECT_TRUE(sharded(in_order(), 2, 3, Rest::Repeat)(0, Key{0}).empty());
  EXPECT_EQ(sharded(in_order(), 0, 3, Rest::Keep)(7, Key{0}), (std::vector<std::int64_t>{0, 3, 6}));
  EXPECT_EQ(sharded(in_order(), 1, 3, Rest::Keep)(7, Key{0}), (std::vector<std::int64_t>{1, 4}));
  EXPECT_TRUE(sharded(in_order(), 2, 3, Rest::Keep)(2, Key{0}).empty());
  EXPECT_THROW(sharded(in_order(), 3, 3), ArgumentError);
}

TEST(Sampler, PutsItemsOfSimilarLengthTogether) {
  std::vector<std::int64_t> lengths;
  Random random(Key{1});
  for (int i = 0; i < 1000; ++i) lengths.push_back(1 + random.below(100));
  LoaderConfig config{
      .seed = 2, .sampler = in_random_order(), .batches = by_length({.lengths = lengths, .batch_size = 10})};
  DataLoader loader(numbers(1000), copied, config);
  EXPECT_EQ(loader.size(), 100);
  const Batches batches = epoch_of(loader);
  std::set<int> seen;
  std::int64_t padded = 0;
  std::vector<std::int64_t> longest;
  for (const auto& batch : batches) {
    seen.insert(batch.begin(), batch.end());
    longest.push_back(0);
    for (const int item : batch) longest.back() = std::max(longest.back(), lengths[static_cast<std::size_t>(item)]);
    padded += longest.back() * std::ssize(batch);
  }
  EXPECT_EQ(seen.size(), 1000u);
  const auto tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  EXPECT_LT(padded, tokens * 105 / 100);  // at random, half as much again
  EXPECT_FALSE(std::ranges::is_sorted(longest));
  EXPECT_NE(epoch_of(loader), batches);
  loader.set_epoch(0, 97);
  EXPECT_EQ(epoch_of(loader), Batches(batches.begin() + 97, batches.end()));
}

TEST(Sampler, KeepsBatchesBelowAsManyTokens) {
  const std::vector<std::int64_t> lengths = {5, 1, 9, 30, 2, 5, 0, 4};
  DataLoader loader(numbers(8), copied, {.batches = by_length({.lengths = lengths, .most_tokens = 20})});
  std::multiset<int> seen;
  for (const auto& batch : epoch_of(loader)) {
    std::int64_t longest = 0;
    for (const int item : batch) longest = std::max(longest, lengths[static_cast<std::size_t>(item)]);
    EXPECT_TRUE(batch.size() == 1 || longest * std::ssize(batch) <= 20);
    seen.insert(batch.begin(), batch.end());
  }
  EXPECT_EQ(seen, (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(loader.size(), 4);  // {0, 1, 2, 4} {5, 5} {9} {30} of lengths, each as long as it may be
  EXPECT_EQ(raised<ArgumentError>([] { by_length({.lengths = {1, -1}}); }), "by_length: item 1 has length -1");
  EXPECT_THROW(by_length({.lengths = {}, .batch_size = 0}), ArgumentError);
  DataLoader more(numbers(9), copied, {.batches = by_length({.lengths = lengths})});
  EXPECT_EQ(raised<ArgumentError>([&] { more.size(); }), "by_length: there is no length of item 8, only 8 lengths");
}

TEST(Sampler, IsNotBelieved) {
  DataLoader outside(numbers(3), copied,
                     {.sampler = [](std::int64_t, Key) { return std::vector<std::int64_t>{0, 3}; }});
  EXPECT_EQ(raised<IndexError>([&] { outside.begin(); }), "data loader: the sampler chose item 3 of 3");
  DataLoader empty(numbers(3), copied, {.batches = [](std::vector<std::int64_t> order, Key) {
                     return BatchList{std::move(order), {2, 2}};
                   }});
  EXPECT_EQ(raised<ArgumentError>([&] { empty.begin(); }), "data loader: a batch cannot be the items 2 to 2 of 3");
  EXPECT_EQ(raised<ArgumentError>([] { DataLoader(numbers(3), copied, {.shuffle = true, .sampler = in_order()}); }),
            "data loader: give a sampler or shuffle, not both");
}

}  // namespace
}  // namespace kiln
