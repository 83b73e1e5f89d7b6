#include "kiln/data/dataset.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "kiln/data/compose/chosen.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/compose/sections.hpp"
#include "kiln/data/loader.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;

/// 0, 10, 20, ...
class Tens final : public Dataset<int> {
 public:
  explicit Tens(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }

 private:
  int item(std::int64_t index) const override { return static_cast<int>(10 * index); }
  std::int64_t size_;
};

template <class T>
std::vector<T> all(const DatasetPtr<T>& dataset) {
  std::vector<T> items;
  for (std::int64_t i = 0; i < dataset->size(); ++i) items.push_back(dataset->get(i));
  return items;
}

TEST(Dataset, RefusesIndicesOutOfRange) {
  const Tens tens(3);
  EXPECT_EQ(tens.get(2), 20);
  EXPECT_EQ(raised<IndexError>([&] { tens.get(3); }), "data set: item 3 of 3 does not exist");
  EXPECT_EQ(raised<IndexError>([&] { tens.get(-1); }), "data set: item -1 of 3 does not exist");
  EXPECT_EQ(raised<IndexError>([] { Tens(0).get(0); }), "data set: item 0 of 0 does not exist");
}

TEST(Dataset, HoldsAVector) {
  EXPECT_EQ(all(in_memory(std::vector<std::string>{"a", "b"})), (std::vector<std::string>{"a", "b"}));
}

TEST(Dataset, MapsEachItemIntoAnotherType) {
  const DatasetPtr<std::string> words = mapped(Tens(3), [](int number) { return std::to_string(number); });
  EXPECT_EQ(all(words), (std::vector<std::string>{"0", "10", "20"}));
}

TEST(Dataset, PicksASubset) {
  EXPECT_EQ(all(subset(Tens(5), {4, 0, 4})), (std::vector<int>{40, 0, 40}));
  EXPECT_EQ(raised<IndexError>([] { subset(Tens(5), {0, 5}); }), "subset: item 5 of 5 does not exist");
}

TEST(Dataset, PutsOneBehindTheOther) {
  EXPECT_EQ(all(concatenated(Tens(2), Tens(0), in_memory(std::vector{7}))), (std::vector<int>{0, 10, 7}));
  EXPECT_EQ(concatenated(Tens(0), Tens(0))->size(), 0);
}

TEST(Dataset, ShufflesBySeed) {
  const auto once = all(shuffled(Tens(100), 1)), again = all(shuffled(Tens(100), 1)),
             other = all(shuffled(Tens(100), 2));
  EXPECT_EQ(once, again);
  EXPECT_NE(once, other);
  EXPECT_NE(once, all(share(Tens(100))));
  auto sorted = once;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all(share(Tens(100))));
}

TEST(Dataset, SplitsIntoDisjointParts) {
  const auto [train, valid] = split(Tens(10), {6, 3}, 5);
  auto items = all(train), rest = all(valid);
  EXPECT_EQ(items.size(), 6u);
  EXPECT_EQ(rest.size(), 3u);
  items.insert(items.end(), rest.begin(), rest.end());
  EXPECT_EQ(std::set<int>(items.begin(), items.end()).size(), 9u);
  EXPECT_EQ(all(split(Tens(10), {6, 3}, 5)[0]), all(train));
}

TEST(Dataset, RefusesToSplitMoreThanThereIs) {
  EXPECT_EQ(raised<ArgumentError>([] { split(Tens(10), {6, 5}, 0); }),
            "split: the parts have 11 items together, the data set has 10");
  EXPECT_EQ(raised<ArgumentError>([] { split(Tens(10), {12, -2}, 0); }), "split: a part cannot have -2 items");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(raised<ArgumentError>([&] { split(Tens(10), {most, most, most, most}, 0); }),
            "split: the parts have more items than can be counted");
  EXPECT_EQ(raised<ArgumentError>([] { split(Tens(10), {-1}, 0); }), "split: a part cannot have -1 items");
}

/// Counts how often it is asked, and fails for one item.
class Counted final : public Dataset<int> {
 public:
  explicit Counted(std::int64_t broken = -1) : broken_(broken) {}
  std::int64_t size() const override { return 10; }
  mutable int calls = 0, many = 0;

 private:
  int item(std::int64_t index) const override {
    ++calls;
    require<DataError>(index != broken_, "item ", index, " is damaged");
    return static_cast<int>(10 * index);
  }
  std::vector<int> items(std::span<const std::int64_t> indices, std::size_t& at) const override {
    ++many;
    return Dataset<int>::items(indices, at);
  }
  std::int64_t broken_;
};

using Indices = std::vector<std::int64_t>;

TEST(GetMany, GivesWhatGetGivesInAnyOrder) {
  const std::vector<DatasetPtr<int>> all_kinds{
      share(Tens(10)),
      mapped(Tens(10), [](int number) { return number + 1; }),
      subset(Tens(20), {3, 3, 19, 0, 1, 2, 4, 5, 6, 7}),
      shuffled(Tens(10), 5),
      concatenated(Tens(3), Tens(0), Tens(5), shuffled(Tens(2), 1)),
      range(Tens(30), 12, 10),
      cached(Tens(10)),
      collected(Tens(10)),
      filtered(Tens(40), [](int number) { return number % 40 == 0; }),
      sampled(Tens(99), 10, 3),
      mapped(zipped(Tens(10), shuffled(Tens(10), 1)),
             [](const std::pair<int, int>& two) { return two.first - two.second; }),
      mapped(windows(Tens(13), {.size = 4}), [](const std::vector<int>& four) { return four[0] + 1000 * four[3]; }),
      generated(10, 7, [](Key key) { return static_cast<int>(random_word(key, 0) >> 1); })};
  for (const auto& data : all_kinds) {
    ASSERT_EQ(data->size(), 10);
    const Indices wanted{7, 0, 9, 9, 2, 7, 4, 3, 8, 0};
    std::vector<int> one_by_one;
    for (const auto index : wanted) one_by_one.push_back(data->get(index));
    EXPECT_EQ(data->get_many(wanted), one_by_one);
    EXPECT_TRUE(data->get_many({}).empty());
  }
}

TEST(GetMany, ReachesTheSourceAsOneCallThroughAll) {
  const auto source = std::make_shared<const Counted>();
  const auto data = cached(mapped(concatenated(range(subset(shuffled(source, 1), {1, 2, 3, 4}), 1, 3), Tens(1)),
                                  [](int number) { return number; }));
  EXPECT_EQ(data->get_many(Indices{2, 0, 1, 2, 3}).size(), 5u);
  EXPECT_EQ(source->many, 1);
  EXPECT_EQ(source->calls, 3);  // an item that is wanted twice is computed once by a cache
  data->get_many(Indices{0, 1});
  data->get(2);
  EXPECT_EQ(source->calls, 3);
  DataLoader loader(source, [](std::span<const int> items) { return items.size(); }, {.batch_size = 5});
  for (const auto size : loader) EXPECT_EQ(size, 5u);
  EXPECT_EQ(source->many, 3);
}

TEST(GetMany, SaysWhichItemFailed) {
  const Indices wanted{6, 2, 9, 4};
  const auto place = [&](const DatasetPtr<int>& data) {
    std::size_t at = 99;
    EXPECT_EQ(raised<DataError>([&] { data->get_many(wanted, &at); }).substr(0, 5), "item ");
    return at;
  };
  const auto failing = [](std::int64_t broken) { return std::make_shared<const Counted>(broken); };
  EXPECT_EQ(place(failing(9)), 2u);
  EXPECT_EQ(place(failing(6)), 0u);
  EXPECT_EQ(place(cached(failing(4))), 3u);
  EXPECT_EQ(place(subset(failing(1), {0, 0, 0, 0, 1, 0, 0, 0, 0, 0})), 3u);
  EXPECT_EQ(place(concatenated(Tens(3), failing(6))), 2u);
  EXPECT_EQ(place(mapped(Tens(10),
                         [](int number) {
                           require<DataError>(number != 20, "item 2 is damaged");
                           return number;
                         })),
            1u);
  EXPECT_EQ(raised<IndexError>([] { Tens(3).get_many(Indices{0, 3}); }), "data set: item 3 of 3 does not exist");
  EXPECT_EQ(raised<IndexError>([] { Tens(3).get_many(Indices{-1}); }), "data set: item -1 of 3 does not exist");
}

TEST(GetMany, OfACacheWaitsForNobodyInACircle) {
  const auto data = cached(mapped(Tens(10), [](int number) {
    std::this_thread::yield();
    return number;
  }));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int again = 0; again < 200; ++again) {
        const auto wanted = permutation(10, Key{static_cast<std::uint64_t>(200 * thread + again)});
        const auto items = data->get_many(wanted);
        for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(items[i], 10 * wanted[i]);
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(Permutation, IsUniformOverTheSixOrdersOfThree) {
  std::vector<int> counts(6);
  constexpr int kDraws = 6000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const auto order = permutation(3, Key{seed});
    ++counts[static_cast<std::size_t>(order[0] * 2 + (order[1] > order[2]))];
  }
  // Chi-squared with 5 degrees of freedom exceeds 25.7 once in ten thousand times.
  double chi2 = 0;
  for (const int count : counts) chi2 += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi2, 25.7);
}

}  // namespace
}  // namespace kiln
