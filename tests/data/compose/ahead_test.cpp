#include "kiln/data/compose/ahead.hpp"

#include <condition_variable>
#include <mutex>
#include <numeric>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/data/stream/sources.hpp"
#include "kiln/data/stream/steps.hpp"
#include "kiln/data/stream/stream_loader.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;

DatasetPtr<int> numbers(int count) {
  std::vector<int> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  return in_memory(std::move(items));
}
std::vector<int> plain(std::span<const int> items) { return {items.begin(), items.end()}; }
std::string joined(const std::vector<int>& batch) {
  std::string words;
  for (const int number : batch) words += text(number, ' ');
  return words;
}

template <class Loader>
std::vector<std::string> words_of(Loader& loader) {
  std::vector<std::string> all;
  for (auto& batch : loader) {
    if constexpr (requires { all.push_back(batch); }) all.push_back(batch);
    else all.push_back(joined(batch));
  }
  return all;
}

TEST(AheadLoader, GivesWhatTheFunctionMakesOfEachBatch) {
  const LoaderConfig config{.batch_size = 3, .shuffle = true, .seed = 5, .workers = 2};
  DataLoader same(numbers(20), plain, config);
  AheadLoader ahead(DataLoader(numbers(20), plain, config), joined);
  static_assert(std::ranges::input_range<decltype(ahead)>);
  EXPECT_EQ(ahead.size(), 7);
  EXPECT_EQ(write_json(ahead.description()), write_json(same.description()));
  for (int epoch = 0; epoch < 2; ++epoch) EXPECT_EQ(words_of(ahead), words_of(same)) << epoch;
  EXPECT_EQ(ahead.epoch(), 2);
  ahead.set_epoch(1, 4);
  same.set_epoch(1, 4);
  EXPECT_EQ(words_of(ahead), words_of(same));
}

TEST(AheadLoader, WorksInAnotherThreadWhileABatchIsInUse) {
  std::mutex mutex;
  std::condition_variable changed;
  int made = 0;
  bool elsewhere = true;
  const auto note = [&, here = std::this_thread::get_id()](const std::vector<int>& batch) {
    const std::lock_guard lock(mutex);
    ++made;
    elsewhere = elsewhere && std::this_thread::get_id() != here;
    changed.notify_all();
    return batch;
  };
  AheadLoader ahead(DataLoader(numbers(20), plain, {.batch_size = 1}), note, 3);
  int used = 0;
  for ([[maybe_unused]] const auto& batch : ahead) {
    std::unique_lock lock(mutex);
    const int wanted = std::min(++used + 3, 20);
    changed.wait(lock, [&] { return made >= wanted; });  // hangs, were they not made beside
    EXPECT_EQ(made, wanted);
  }
  EXPECT_EQ(used, 20);
  EXPECT_TRUE(elsewhere);
}

TEST(AheadLoader, HandsErrorsOnAtTheirBatch) {
  const auto careful = [](std::vector<int> batch) {
    require<DataError>(batch[0] != 6, "six is no good");
    return batch;
  };
  AheadLoader ahead(DataLoader(numbers(20), plain, {.batch_size = 3}), careful);
  std::vector<int> firsts;
  EXPECT_EQ(raised<DataError>([&] {
              for (const auto& batch : ahead) firsts.push_back(batch[0]);
            }),
            "six is no good");
  EXPECT_EQ(firsts, (std::vector<int>{0, 3}));
  EXPECT_EQ(raised<ArgumentError>([&] { AheadLoader(DataLoader(numbers(2), plain, {}), careful, 0); }),
            "loader: 0 batches ahead, it must be at least 1");
  for ([[maybe_unused]] const auto& batch : ahead) break;  // and stops
}

// What was read ahead is not what a checkpoint has to keep.
TEST(AheadLoader, KnowsThePlaceOfTheBatchInUse) {
  const auto stream = shuffled(stream_of(numbers(50)), 16);
  for (const auto batches : {std::optional<std::int64_t>(), std::optional<std::int64_t>(7)}) {
    const StreamLoaderConfig config{.batch_size = 4, .seed = 3, .workers = 2, .batches = batches, .save_every = 1};
    StreamLoader same(stream, plain, config);
    AheadLoader ahead(StreamLoader(stream, plain, config), joined, 3);
    EXPECT_EQ(words_of(ahead), words_of(same));
    auto own = same.begin();
    auto early = ahead.begin();
    for (int batch = 1; batch <= 5; ++batch, ++own, ++early) {
      EXPECT_EQ(*early, joined(*own));
      EXPECT_EQ(ahead.place().batch, same.place().batch) << batch;
      EXPECT_EQ(ahead.place().state, same.place().state) << batch;
    }
    AheadLoader resumed(StreamLoader(stream, plain, config), joined, 3);
    resumed.restore(ahead.place());
    resumed.set_epoch(1, 6);
    EXPECT_EQ(*resumed.begin(), *++early);
  }
}

TEST(AheadLoader, BringsImagesToADevice) {
  std::vector<Image> images;
  for (std::uint8_t i = 0; i < 5; ++i)
    images.push_back({.pixels = {1.0f * i, 0.5f}, .height = 1, .width = 2, .label = i});
  auto batches = on_device(DataLoader(in_memory(images), ImageBatcher{}, {.batch_size = 2}), Device::cpu());
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
  for (const auto& [x, targets] : batches) {
    for (const float pixel : x.to_vector<float>()) pixels.push_back(pixel);
    for (const std::int64_t label : targets.to_vector<std::int64_t>()) labels.push_back(label);
  }
  EXPECT_EQ(pixels, (std::vector<float>{0, 0.5f, 1, 0.5f, 2, 0.5f, 3, 0.5f, 4, 0.5f}));
  EXPECT_EQ(labels, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace kiln
