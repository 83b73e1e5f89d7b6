#include "kiln/data/loader.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;

DatasetPtr<int> numbers(int count) {
  std::vector<int> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  return in_memory(std::move(items));
}

/// A batch is the list of its items.
std::vector<int> listed(std::span<const int> items) { return {items.begin(), items.end()}; }

using Batches = std::vector<std::vector<int>>;

template <class Batch>
std::vector<Batch> epoch_of(DataLoader<Batch>& loader) {
  std::vector<Batch> batches;
  for (auto& batch : loader) batches.push_back(std::move(batch));
  return batches;
}

TEST(Loader, IsAnInputRange) { static_assert(std::ranges::input_range<DataLoader<int>>); }

TEST(Loader, GoesThroughTheDataInOrder) {
  DataLoader loader(numbers(7), listed, {.batch_size = 3});
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2}, {3, 4, 5}, {6}}));
}

TEST(Loader, DropsAPartialBatchWhereAsked) {
  DataLoader loader(numbers(7), listed, {.batch_size = 3, .drop_last = true});
  EXPECT_EQ(loader.size(), 2);
  EXPECT_EQ(loader.items(), 7);
  EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2}, {3, 4, 5}}));
  const auto backwards = [](std::int64_t count, Key) { return std::vector<std::int64_t>{count - 1, 2, 1, 0}; };
  DataLoader sampled(numbers(7), listed, {.batch_size = 3, .drop_last = true, .sampler = backwards});
  EXPECT_EQ(sampled.items(), 4);
  EXPECT_EQ(epoch_of(sampled), (Batches{{6, 2, 1}}));
}

TEST(Loader, GivesNoBatchOfAnEmptyDataSet) {
  for (const int workers : {0, 2}) {
    DataLoader empty(numbers(0), listed, {.shuffle = true, .workers = workers});
    EXPECT_EQ(empty.size(), 0);
    EXPECT_TRUE(epoch_of(empty).empty());
    DataLoader small(numbers(3), listed, {.batch_size = 4, .workers = workers, .drop_last = true});
    EXPECT_TRUE(epoch_of(small).empty());
  }
}

TEST(Loader, SaysOnceThatDropLastLeavesNoBatch) {
  DataLoader loader(numbers(2), listed, {.batch_size = 5, .drop_last = true});
  testing::internal::CaptureStderr();
  for (int epoch = 0; epoch < 2; ++epoch) EXPECT_TRUE(epoch_of(loader).empty());
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "kiln: warning: DataLoader: the 2 items are fewer than a batch of 5, and drop_last leaves them out, so that "
      "there are no batches. This is said once.\n");
}

TEST(Loader, TakesABatchSizeOfAnySize) {
  DataLoader loader(numbers(5), listed, {.batch_size = std::int64_t{1} << 62});
  EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2, 3, 4}}));
}

TEST(Loader, ShufflesAnewEachEpochAndVisitsEachItemOnce) {
  DataLoader loader(numbers(100), listed, {.batch_size = 8, .shuffle = true, .seed = 3});
  const Batches first = epoch_of(loader), second = epoch_of(loader);
  EXPECT_NE(first, second);
  for (const Batches& epoch : {first, second}) {
    std::set<int> seen;
    for (const auto& batch : epoch) seen.insert(batch.begin(), batch.end());
    EXPECT_EQ(seen.size(), 100u);
  }
  DataLoader other(numbers(100), listed, {.batch_size = 8, .shuffle = true, .seed = 4});
  EXPECT_NE(epoch_of(other), first);
}

TEST(Loader, RepeatsAnEpochOrPartOfIt) {
  DataLoader loader(numbers(20), listed, {.batch_size = 4, .shuffle = true, .seed = 3, .workers = 2});
  epoch_of(loader);
  EXPECT_EQ(loader.epoch(), 1);
  const Batches second = epoch_of(loader);
  loader.set_epoch(1);
  EXPECT_EQ(epoch_of(loader), second);
  loader.set_epoch(1, 3);
  EXPECT_EQ(epoch_of(loader), Batches(second.begin() + 3, second.end()));
  EXPECT_EQ(epoch_of(loader).size(), 5u);  // the one after is whole again
  loader.set_epoch(1, 99);
  EXPECT_TRUE(epoch_of(loader).empty());
  EXPECT_EQ(raised<ArgumentError>([&] { loader.set_epoch(-1); }),
            "data loader: epoch -1 from batch 0 on does not exist");
}

/// Each item with the random number that its key gives.
std::vector<std::pair<int, std::uint32_t>> keyed(std::span<const int> items, std::span<const Key> keys) {
  std::vector<std::pair<int, std::uint32_t>> batch;
  for (std::size_t i = 0; i < items.size(); ++i) batch.emplace_back(items[i], random_word(keys[i], 0));
  return batch;
}

TEST(Loader, GivesTheSameBatchesForAnyNumberOfWorkers) {
  const auto epochs = [](int workers, int prefetch) {
    // The first items take longest, so that batches are finished out of order.
    const auto slow = mapped(numbers(50), [](int item) {
      std::this_thread::sleep_for(std::chrono::microseconds(item < 25 ? 300 : 0));
      return item;
    });
    DataLoader loader(slow, keyed,
                      {.batch_size = 4, .shuffle = true, .seed = 9, .workers = workers, .prefetch = prefetch});
    return std::pair(epoch_of(loader), epoch_of(loader));
  };
  const auto expected = epochs(0, 4);
  for (const int workers : {1, 2, 7, 40})
    for (const int prefetch : {1, 4}) EXPECT_EQ(epochs(workers, prefetch), expected) << workers << " " << prefetch;
}

TEST(Loader, KeysEachItemByEpochAndNotByItsPlace) {
  DataLoader shuffling(numbers(30), keyed, {.batch_size = 7, .shuffle = true, .seed = 2});
  DataLoader in_order(numbers(30), keyed, {.batch_size = 5, .seed = 2});
  const auto draws = [](auto& loader) {
    std::vector<std::uint32_t> words(30);
    for (auto& batch : loader)
      for (const auto& [item, word] : batch) words[static_cast<std::size_t>(item)] = word;
    return words;
  };
  const auto first = draws(shuffling);
  EXPECT_EQ(draws(in_order), first);
  EXPECT_EQ(std::set<std::uint32_t>(first.begin(), first.end()).size(), 30u);
  EXPECT_NE(draws(shuffling), first);
}

TEST(Loader, RaisesAWorkersErrorAtItsBatch) {
  const auto broken = mapped(numbers(40), [](int item) {
    require<DataError>(item != 22, "item ", item, " is damaged");
    return item;
  });
  for (const int workers : {0, 1, 3}) {
    DataLoader loader(broken, listed, {.batch_size = 4, .workers = workers});
    Batches seen;
    EXPECT_EQ(raised<DataError>([&] {
                for (auto& batch : loader) seen.push_back(batch);
              }),
              "item 22 is damaged (item 22 of the data set)");
    EXPECT_EQ(seen.size(), 5u) << workers;
    EXPECT_EQ(seen.back(), (std::vector<int>{16, 17, 18, 19}));
  }
}

TEST(Loader, EndsBehindAnError) {
  for (const int workers : {0, 2}) {
    DataLoader loader(numbers(12),
                      [](std::span<const int> items) {
                        require<DataError>(items[0] != 4, "no four");
                        return items[0];
                      },
                      {.batch_size = 4, .workers = workers});
    auto batches = loader.begin();
    EXPECT_EQ(*batches, 0);
    EXPECT_EQ(raised<DataError>([&] { ++batches; }), "no four");
    ++batches;
    EXPECT_TRUE(batches == loader.end()) << workers;
  }
}

TEST(Loader, StopsItsWorkersWhenALoopIsLeft) {
  std::atomic<int> made = 0;
  DataLoader loader(numbers(1'000'000), [&](std::span<const int> items) { return ++made, items[0]; },
                    {.batch_size = 1, .workers = 3, .prefetch = 5});
  for (int round = 0; round < 20; ++round) {
    for (const int batch : loader)
      if (batch == round) break;
  }
  // In round r, batches 0 to r were taken and at most five more were begun.
  EXPECT_LE(made.load(), 20 * 21 / 2 + 20 * 5);
  EXPECT_EQ(loader.epoch(), 20);
}

TEST(Loader, KeepsWorkingWhenTheLoopIsSlowerOrGone) {
  auto loader =
      std::make_unique<DataLoader<std::vector<int>>>(numbers(64), listed, LoaderConfig{.batch_size = 2, .workers = 4});
  auto batches = loader->begin();
  loader.reset();  // an iteration stands on its own
  int count = 0;
  for (; batches != std::default_sentinel; ++batches, ++count)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  EXPECT_EQ(count, 32);
}

TEST(Loader, PreparesBatchesOnItsWorkers) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto note = [&](std::span<const int> items) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return items[0];
  };
  DataLoader loader(numbers(40), note, {.batch_size = 1, .workers = 2});
  epoch_of(loader);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
  EXPECT_GE(threads.size(), 1u);
  threads.clear();
  DataLoader plain(numbers(4), note);
  epoch_of(plain);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(Loader, CarriesBatchesThatCannotBeCopiedOrDefaultMade) {
  struct Only {
    explicit Only(int number) : value(std::make_unique<int>(number)) {}
    std::unique_ptr<int> value;
  };
  DataLoader loader(numbers(9), [](std::span<const int> items) { return Only(items[0]); },
                    {.batch_size = 3, .workers = 2});
  int sum = 0;
  for (auto& batch : loader) sum += *batch.value;
  EXPECT_EQ(sum, 0 + 3 + 6);
}

TEST(Loader, RefusesAConfigurationWithoutMeaning) {
  const auto refusal = [](const LoaderConfig& config) {
    return raised<ArgumentError>([&] { DataLoader<std::vector<int>>(numbers(1), listed, config); });
  };
  EXPECT_EQ(refusal({.batch_size = 0}), "data loader: batch_size is 0, it must be at least 1");
  EXPECT_EQ(refusal({.workers = -1}), "data loader: workers is -1, it must be 0 to 1024");
  EXPECT_EQ(refusal({.prefetch = 0}), "data loader: prefetch is 0, it must be 1 to 1024");
}

}  // namespace
}  // namespace kiln
