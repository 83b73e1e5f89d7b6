#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "kiln/data/compose/chosen.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/compose/on_disk.hpp"
#include "kiln/data/compose/sections.hpp"

#include "tests/data/damaged.hpp"
#include "tests/data/numbers.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/support/full_disk.hpp"

namespace kiln {
namespace {

using test::numbers;
using test::raised;
using Items = std::vector<int>;

template <class T>
std::vector<T> listed(const DatasetPtr<T>& dataset) {
  std::vector<T> items;
  for (std::int64_t i = 0; i < dataset->size(); ++i) items.push_back(dataset->get(i));
  return items;
}

TEST(Sections, AreRangesAndChunks) {
  EXPECT_EQ(listed(range(numbers(10), 3, 4)), (Items{3, 4, 5, 6}));
  EXPECT_TRUE(listed(range(numbers(3), 3, 0)).empty());
  EXPECT_EQ(raised<IndexError>([] { range(numbers(10), 7, 4); }),
            "range: 4 items from item 7 on do not lie in a data set of 10");
  EXPECT_THROW(range(numbers(3), -1, 2), IndexError);
  EXPECT_THROW(range(numbers(3), 1, std::int64_t{1} << 62), IndexError);
  const auto parts = chunks(numbers(8), 3);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(listed(parts[0]), (Items{0, 1, 2}));
  EXPECT_EQ(listed(parts[1]), (Items{3, 4, 5}));
  EXPECT_EQ(listed(parts[2]), (Items{6, 7}));
  EXPECT_EQ(chunks(numbers(2), 5)[4]->size(), 0);
  EXPECT_THROW(chunks(numbers(2), 0), ArgumentError);
}

TEST(Sections, SlideWindows) {
  using Lists = std::vector<Items>;
  EXPECT_EQ(listed(windows(numbers(5), {.size = 3})), (Lists{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}}));
  EXPECT_EQ(listed(windows(numbers(7), {.size = 3, .stride = 3})), (Lists{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(listed(windows(numbers(7), {.size = 3, .stride = 3, .keep_rest = true})),
            (Lists{{0, 1, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(listed(windows(numbers(5), {.size = 2, .stride = 4})), (Lists{{0, 1}}));
  EXPECT_TRUE(listed(windows(numbers(2), {.size = 3})).empty());
  EXPECT_EQ(listed(windows(numbers(2), {.size = 3, .keep_rest = true})), (Lists{{0, 1}}));
  EXPECT_TRUE(listed(windows(numbers(0), {.size = 3, .keep_rest = true})).empty());
  EXPECT_EQ(raised<ArgumentError>([] { windows(numbers(3), {.size = 0}); }),
            "windows: size 0 and stride 1 must be at least 1");
}

TEST(Sections, KeepEveryItemOfTheRest) {
  // By counting: windows begin at each multiple of the stride; the one that is cut off stands there where it has an
  // item that no whole one has.
  for (int items = 0; items < 12; ++items) {
    for (int size = 1; size < 6; ++size) {
      for (int stride = 1; stride < 7; ++stride) {
        std::vector<Items> expected;
        int seen = 0;
        for (int begin = 0; begin < items; begin += stride) {
          const int end = std::min(begin + size, items);
          if (begin + size > items && end <= seen) break;
          Items& window = expected.emplace_back();
          for (int i = begin; i < end; ++i) window.push_back(i);
          seen = end;
          if (begin + size > items) break;
        }
        EXPECT_EQ(listed(windows(numbers(items), {.size = size, .stride = stride, .keep_rest = true})), expected)
            << items << " " << size << " " << stride;
      }
    }
  }
}

TEST(Chosen, DrawWithAndWithoutReplacement) {
  const Items once = listed(sampled(numbers(50), 20, 1));
  EXPECT_EQ(std::set<int>(once.begin(), once.end()).size(), 20u);
  EXPECT_EQ(listed(sampled(numbers(50), 20, 1)), once);
  EXPECT_NE(listed(sampled(numbers(50), 20, 2)), once);
  const Items again = listed(sampled(numbers(50), 2000, 1, true));
  EXPECT_EQ(std::set<int>(again.begin(), again.end()).size(), 50u);
  EXPECT_EQ(raised<ArgumentError>([] { sampled(numbers(5), 6, 1); }),
            "sampled: 6 items cannot be sampled from 5 without replacement");
  EXPECT_THROW(sampled(numbers(0), 1, 1, true), ArgumentError);
  EXPECT_THROW(sampled(numbers(5), -1, 1), ArgumentError);
}

TEST(Chosen, DrawByWeight) {
  const std::vector<double> weights = {0, 1, 0, 3, 0};
  std::vector<int> counts(5);
  const int draws = 40'000;
  for (const auto index : sample_weighted(weights, draws, Key{3})) ++counts[static_cast<std::size_t>(index)];
  EXPECT_EQ(counts[0] + counts[2] + counts[4], 0);
  // Within five standard deviations, sqrt(n p (1 - p)), of a quarter.
  EXPECT_NEAR(counts[1], draws * 0.25, 5 * std::sqrt(draws * 0.25 * 0.75));
  EXPECT_EQ(raised<ArgumentError>([] { sample_weighted(std::vector<double>{1, -1}, 1, Key{0}); }),
            "weighted: weight 1 is -1, it must be 0 or more");
  EXPECT_THROW(sample_weighted(std::vector<double>{0, 0}, 1, Key{0}), ArgumentError);
  EXPECT_THROW(sample_weighted(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}, 1, Key{0}),
               ArgumentError);
  EXPECT_THROW(sample_weighted({}, 1, Key{0}), ArgumentError);
}

TEST(Chosen, FilterZipAndGenerate) {
  EXPECT_EQ(listed(filtered(numbers(10), [](int x) { return x % 3 == 0; })), (Items{0, 3, 6, 9}));
  EXPECT_EQ(listed(zipped(numbers(2), range(numbers(5), 3, 2))), (std::vector<std::pair<int, int>>{{0, 3}, {1, 4}}));
  EXPECT_EQ(raised<ArgumentError>([] { zipped(numbers(2), numbers(3)); }), "zipped: data sets of 2 and 3 items");
  const auto made = generated(3, 7, [](Key key) { return Random(key).uniform(); });
  EXPECT_EQ(made->size(), 3);
  EXPECT_EQ(made->get(1), made->get(1));
  EXPECT_NE(made->get(1), made->get(2));
}

TEST(Kept, MakesEachItemOnce) {
  std::atomic<int> made = 0;
  const auto kept = cached(mapped(numbers(100), [&](int x) { return ++made, x * x; }));
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_EQ(kept->get(i), i * i);
    });
  threads.clear();
  EXPECT_EQ(made, 100);
  int calls = 0;
  const auto flaky = cached(mapped(numbers(1), [&](int x) {
    require<DataError>(++calls > 1, "not yet");
    return x;
  }));
  EXPECT_EQ(raised<DataError>([&] { flaky->get(0); }), "not yet");
  EXPECT_EQ(flaky->get(0), 0);
  EXPECT_EQ(flaky->get(0), 0);
  EXPECT_EQ(calls, 2);
}

struct Sample {
  std::string name;
  std::vector<float> values;
  std::optional<int> label;
  friend bool operator==(const Sample&, const Sample&) = default;
};

DatasetPtr<Sample> samples(int* made = nullptr) {
  return mapped(numbers(5), [made](int x) {
    if (made) ++*made;
    return Sample{std::string(static_cast<std::size_t>(x), 'x'),
                  {0.5f * static_cast<float>(x)},
                  x % 2 ? std::optional(x) : std::nullopt};
  });
}

TEST(OnDisk, KeepsItemsAcrossPrograms) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("samples.items");
  int made = 0;
  for (int program = 0; program < 3; ++program)
    EXPECT_EQ(listed(cached_on_disk(samples(&made), path, "half")), listed(samples()));
  EXPECT_EQ(made, 5);
  cached_on_disk(samples(&made), path, "other");
  EXPECT_EQ(made, 10);
  cached_on_disk(range(samples(&made), 0, 4), path, "other");
  EXPECT_EQ(made, 14);
  EXPECT_EQ(listed(cached_on_disk(numbers(4), path, "other")), (Items{0, 1, 2, 3}));  // of another type
}

TEST(OnDisk, LeavesNothingWhereMakingFails) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("broken.items");
  const auto broken = mapped(numbers(5), [](int x) { return require<DataError>(x != 3, "three"), x; });
  EXPECT_EQ(raised<DataError>([&] { cached_on_disk(broken, path, ""); }), "three");
  EXPECT_FALSE(std::filesystem::exists(path));
  std::string sentence;
  {
    const FullDisk full;
    sentence = raised<IoError>([&] { cached_on_disk(samples(), path, ""); });
  }
  EXPECT_EQ(sentence, "cannot write " + path + ": File too large");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(OnDisk, RefusesDamage) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("damaged.items");
  cached_on_disk(samples(), path, "");
  const std::string sound = read_text_file(path);
  const std::uint64_t fingerprint = ItemFile(map_file(path)).fingerprint();
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    const std::string bytes = test::damaged(sound, random);
    try {
      ItemFile file({std::as_bytes(std::span(bytes)), "damaged", nullptr});
      // What is read is what was written, or another data set's.
      if (file.fingerprint() == fingerprint) {
        EXPECT_EQ(listed(share(OnDisk<Sample>(std::move(file)))), listed(samples()));
      }
      ++read;
    } catch (const DataError& error) {
      EXPECT_TRUE(error.message().starts_with("damaged: "));
      ++refused;
    }
  }
  EXPECT_GT(read, 200);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace kiln
