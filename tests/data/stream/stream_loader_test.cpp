#include "kiln/data/stream/stream_loader.hpp"

#include <atomic>
#include <numeric>
#include <ranges>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "kiln/data/stream/sources.hpp"
#include "kiln/data/stream/steps.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;
using Batches = std::vector<std::vector<int>>;

DatasetPtr<int> numbers(int count) {
  std::vector<int> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  return in_memory(std::move(items));
}
std::vector<int> plain(std::span<const int> items) { return {items.begin(), items.end()}; }
/// Items and what is drawn from their keys.
std::vector<int> keyed(std::span<const int> items, std::span<const Key> keys) {
  std::vector<int> batch;
  for (std::size_t i = 0; i < items.size(); ++i)
    batch.insert(batch.end(), {items[i], static_cast<int>(Random(keys[i]).below(1'000'000))});
  return batch;
}

template <class Loader>
Batches epoch_of(Loader& loader) {
  Batches batches;
  for (auto& batch : loader) batches.push_back(std::move(batch));
  return batches;
}
Stream<int> shuffled_numbers() {
  return mapped(shuffled(stream_of(numbers(50)), 16), [](int x) { return 3 * x; });
}

TEST(StreamLoader, IsAnInputRange) { static_assert(std::ranges::input_range<StreamLoader<int>>); }

TEST(StreamLoader, GoesThroughTheStream) {
  StreamLoader loader(stream_of(numbers(7)), plain, {.batch_size = 3});
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(loader.epoch(), 1);
  StreamLoader whole(stream_of(numbers(7)), plain, {.batch_size = 3, .drop_last = true});
  EXPECT_EQ(whole.size(), 2);
  EXPECT_EQ(epoch_of(whole), (Batches{{0, 1, 2}, {3, 4, 5}}));
  StreamLoader none(stream_of(numbers(0)), plain, {.workers = 2});
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(epoch_of(none).empty());
}

TEST(StreamLoader, GivesTheSameBatchesWhateverTheNumberOfWorkers) {
  const auto two_epochs = [](int workers, std::optional<std::int64_t> batches) {
    StreamLoader loader(shuffled_numbers(), keyed,
                        {.batch_size = 4, .seed = 3, .workers = workers, .prefetch = 2, .batches = batches});
    return std::pair(epoch_of(loader), epoch_of(loader));
  };
  for (const auto batches : {std::optional<std::int64_t>(), std::optional<std::int64_t>(9)}) {
    const auto [first, second] = two_epochs(0, batches);
    EXPECT_EQ(first.size(), batches ? 9u : 13u);
    EXPECT_NE(first, second);
    for (const int workers : {1, 2, 5}) EXPECT_EQ(two_epochs(workers, batches), std::pair(first, second));
  }
}

TEST(StreamLoader, CutsPassesIntoEpochsOfANumberOfBatches) {
  StreamLoader loader(stream_of(numbers(7)), plain, {.batch_size = 3, .batches = 4});
  EXPECT_EQ(loader.size(), 4);
  EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2}, {3, 4, 5}, {6}, {0, 1, 2}}));
  EXPECT_EQ(epoch_of(loader), (Batches{{3, 4, 5}, {6}, {0, 1, 2}, {3, 4, 5}}));
  StreamLoader whole(stream_of(numbers(7)), plain, {.batch_size = 3, .drop_last = true, .batches = 3});
  EXPECT_EQ(epoch_of(whole), (Batches{{0, 1, 2}, {3, 4, 5}, {0, 1, 2}}));
  StreamLoader small(stream_of(numbers(2)), plain, {.batch_size = 3, .drop_last = true, .batches = 3});
  EXPECT_EQ(raised<DataError>([&] { epoch_of(small); }),
            "stream loader: the stream has less than one batch of 3 items");
}

TEST(StreamLoader, GoesOnFromEveryBatch) {
  for (const auto batches : {std::optional<std::int64_t>(), std::optional<std::int64_t>(9)}) {
    const StreamLoaderConfig config = {.batch_size = 4, .seed = 3, .workers = 2, .batches = batches, .save_every = 3};
    StreamLoader whole(shuffled_numbers(), keyed, config);
    const std::vector<Batches> epochs = {epoch_of(whole), epoch_of(whole), epoch_of(whole)};
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      const Batches& all = epochs[static_cast<std::size_t>(epoch)];
      for (std::int64_t batch = 0; batch <= std::ssize(all); ++batch) {
        // With nothing but its number, and from the place that another process kept.
        StreamLoader far(shuffled_numbers(), keyed, config), before(shuffled_numbers(), keyed, config);
        for (std::int64_t i = 0; i < epoch; ++i) epoch_of(before);
        std::int64_t left = batch;
        if (batch > 0)
          for (auto it = before.begin(); it != before.end(); ++it)
            if (--left == 0) break;
        StreamLoader near(shuffled_numbers(), keyed, config);
        near.restore(before.place());
        for (auto* const loader : {&far, &near}) {
          loader->set_epoch(epoch, batch);
          EXPECT_EQ(epoch_of(*loader), Batches(all.begin() + batch, all.end()));
        }
      }
    }
  }
}

TEST(StreamLoader, ReadsNoMoreThanItMustToGoOn) {
  std::atomic<int> read = 0, made = 0;
  const auto counted = filtered(stream_of(numbers(1000)), [&](int) { return ++read; });
  const auto stream = mapped(counted, [&](int x) { return ++made, x; });
  const StreamLoaderConfig config = {.batch_size = 1, .batches = 400, .save_every = 50};
  StreamLoader loader(stream, plain, config);
  std::int64_t left = 275;
  for (auto it = loader.begin(); --left > 0;) ++it;
  EXPECT_EQ(loader.place().batch, 250);
  StreamLoader resumed(stream, plain, config);
  resumed.restore(loader.place());
  resumed.set_epoch(0, 275);
  read = made = 0;
  EXPECT_EQ(*resumed.begin(), std::vector<int>{275});
  EXPECT_EQ(read, 26);
  EXPECT_EQ(made, 1);
}

TEST(StreamLoader, TellsOfErrorsAtTheirBatch) {
  for (const int workers : {0, 3}) {
    const auto faulty = mapped(stream_of(numbers(20)), [](int x) {
      require<DataError>(x != 7, "seven is damaged");
      return x;
    });
    StreamLoader loader(faulty, plain, {.batch_size = 3, .workers = workers});
    Batches before;
    EXPECT_EQ(raised<DataError>([&] {
                for (auto& batch : loader) before.push_back(batch);
              }),
              "seven is damaged (item 7 of the stream)");
    EXPECT_EQ(before, (Batches{{0, 1, 2}, {3, 4, 5}}));
    // In what one thread does, too.
    const auto sevens = filtered(faulty, [](int) { return true; });
    StreamLoader other(sevens, plain, {.batch_size = 3, .workers = workers});
    EXPECT_EQ(raised<DataError>([&] { epoch_of(other); }), "seven is damaged (item 7 of the stream)");
  }
}

TEST(StreamLoader, StopsItsWorkersWhereALoopIsLeft) {
  StreamLoader loader(repeated(stream_of(numbers(3))), plain, {.batch_size = 2, .workers = 3});
  for (int i = 0; i < 50; ++i)
    for (const auto& batch : loader) {
      EXPECT_EQ(batch.size(), 2u);
      break;
    }
}

TEST(StreamLoader, SaysWhatMakesNoSense) {
  const auto stream = stream_of(numbers(3));
  EXPECT_EQ(raised<ArgumentError>([&] { StreamLoader(stream, plain, {.batch_size = 0}); }),
            "data loader: batch_size is 0, it must be at least 1");
  EXPECT_EQ(raised<ArgumentError>([&] { StreamLoader(stream, plain, {.batches = 0}); }),
            "stream loader: batches 0 and save_every 100 must be at least 1");
  EXPECT_EQ(raised<ArgumentError>([&] { StreamLoader(repeated(stream), plain).size(); }),
            "stream loader: the stream has no end: set the number of `batches` of an epoch");
  StreamLoader loader(stream, plain);
  EXPECT_EQ(raised<ArgumentError>([&] { loader.set_epoch(0, -1); }),
            "stream loader: epoch 0 from batch -1 on does not exist");
  loader.restore({.batch = 1, .state = {1, 2}});
  loader.set_epoch(0, 1);
  EXPECT_THROW(epoch_of(loader), DataError);
}

}  // namespace
}  // namespace kiln
