#include "kiln/data/dataset.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include <gtest/gtest.h>

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
            "split: the parts have more items than the data set's 10");
  EXPECT_EQ(raised<ArgumentError>([] { split(Tens(10), {12, -2}, 0); }),
            "split: the parts have more items than the data set's 10");
  EXPECT_EQ(raised<ArgumentError>([] { split(Tens(10), {-1}, 0); }), "split: a part cannot have -1 items");
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
