// A training that is stopped, or killed, goes on to the same bits.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "kiln/core/file.hpp"
#include "kiln/data/compose/ahead.hpp"
#include "kiln/data/stream/sources.hpp"
#include "kiln/data/stream/steps.hpp"
#include "kiln/data/stream/stream_loader.hpp"
#include "kiln/train/early_stopping.hpp"
#include "kiln/train/log/files.hpp"
#include "kiln/train/log/tensorboard.hpp"
#include "tests/support/full_disk.hpp"
#include "tests/support/long.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/heard.hpp"
#include "tests/train/line.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// Everything that has a state: dropout, shuffled batches from threads, steps of two batches, an average, a falling
/// rate, metrics, early stopping.
training::RunEnd train_line(const fs::path& directory, std::int64_t steps) {
  auto train = loader(37, {.batch_size = 4, .shuffle = true, .seed = 5, .workers = 2});
  auto valid = loader(11, {.batch_size = 4});
  auto learner = line_learner({.steps = steps, .accumulate = 2, .validate_every = 7, .seed = 9}, 0.25);
  learner.plateau({.initial = 0.1, .factor = 0.9, .patience = 1}).average(EmaConfig{.decay = 0.9});
  learner.metric(metric::MeanAbsoluteError{}).metric(metric::R2{}).add(EarlyStopping{.patience = 1000});
  learner.checkpoints(directory, {.every_steps = 3, .every_epochs = 1, .last = 2});
  return learner.fit(train, valid);
}

/// All that the newest checkpoint holds but the time, and by which run.
std::map<std::string, std::vector<std::byte>> contents(const fs::path& directory) {
  const auto file = Checkpointer(directory, {}).latest();
  const TensorSource record = open_tensors(file.value());
  std::map<std::string, std::vector<std::byte>> all;
  for (const auto& [name, tensor] : record.tensors) {
    const TensorData data = tensor.read();
    all[name].assign(data.bytes().begin(), data.bytes().end());
  }
  for (const auto& [name, value] : record.metadata) {
    const auto bytes = std::as_bytes(std::span(value));
    if (name != "value.at.seconds" && name != "checkpoint") all[name].assign(bytes.begin(), bytes.end());
  }
  return all;
}

TEST(Checkpoints, GoOnToTheSameBitsFromAnyStep) {
  const fs::path whole = fresh_directory("whole"), parts = fresh_directory("parts");
  train_line(whole, 23);
  for (std::int64_t step = 1; step <= 23; step += step % 3 + 1) EXPECT_EQ(train_line(parts, step).at.step, step);
  EXPECT_EQ(train_line(parts, 23).reason, "all 23 steps are done");
  const auto expected = contents(whole);
  EXPECT_TRUE(expected.contains("optimizer.linear.weight.first_moment"));
  EXPECT_TRUE(expected.contains("average.average.linear.bias"));
  EXPECT_TRUE(expected.contains("value.metrics.mean_absolute_error.sum.sum"));
  EXPECT_TRUE(expected.contains("value.callbacks.0.best"));
  EXPECT_EQ(contents(parts), expected);
}

/// From a stream, through a buffer, by threads; epochs of a number of batches or of a pass.
training::RunEnd train_on_stream(const fs::path& directory, std::int64_t steps, std::optional<std::int64_t> batches) {
  const auto pairs = mapped(stream_of(points(37)), [](Point p) { return std::pair(p.x, p.y); });
  const auto join = [](std::span<const std::pair<float, float>> items) {
    Points batch;
    for (const auto& [x, y] : items) batch.x.push_back(x), batch.y.push_back(y);
    return batch;
  };
  StreamLoader train(shuffled(pairs, 10), join,
                     {.batch_size = 4, .seed = 5, .workers = 2, .batches = batches, .save_every = 3});
  auto valid = loader(11, {.batch_size = 4});
  auto learner = line_learner({.steps = steps, .seed = 9}, 0.25);
  learner.checkpoints(directory, {.every_steps = 2, .last = 2});
  return learner.fit(train, valid);
}

TEST(Checkpoints, GoOnInTheMiddleOfAStream) {
  for (const auto batches : {std::optional<std::int64_t>(), std::optional<std::int64_t>(7)}) {
    const fs::path whole = fresh_directory("stream"), parts = fresh_directory("stream-parts");
    train_on_stream(whole, 29, batches);
    for (std::int64_t step = 1; step <= 29; step += step % 3 + 1)
      EXPECT_EQ(train_on_stream(parts, step, batches).at.step, step);
    train_on_stream(parts, 29, batches);
    const auto expected = contents(whole);
    EXPECT_TRUE(expected.contains("stream.state"));
    EXPECT_EQ(contents(parts), expected);
  }
}

/// In float16, with a scale that falls and rises on the way, and brought to the device ahead of use.
training::RunEnd train_in_half(const fs::path& directory, std::int64_t steps) {
  AheadLoader train(loader(37, {.batch_size = 4, .shuffle = true, .seed = 5, .workers = 2}),
                    [](Points points) { return points; });
  auto learner = line_learner({.steps = steps,
                               .autocast = DType::F16,
                               .scaler = GradientScalerConfig{.exponent = 126, .interval = 10},
                               .seed = 9},
                              0.25);
  learner.rate(0.01).metric(metric::MeanAbsoluteError{});
  learner.checkpoints(directory, {.every_steps = 3, .last = 2});
  return learner.fit(train);
}

constexpr std::int64_t kSteps = 150;

training::RunEnd train(const std::string& kind, const fs::path& directory) {
  if (kind == "half") return train_in_half(directory, kSteps);
  if (kind == "stream") return train_on_stream(directory, kSteps, 7);
  return train_line(directory, kSteps);
}

// What the tests below kill: a program of its own, this one.
TEST(Checkpoints, DISABLED_Child) { train(std::getenv("KILN_TEST_TRAINING"), std::getenv("KILN_TEST_CHECKPOINTS")); }

/// A training that is killed so often, at random moments, ends as one that was not.
void expect_same_after_kills(const std::string& kind, int kills) {
  const fs::path whole = fresh_directory("unkilled-" + kind), parts = fresh_directory("killed-" + kind);
  train(kind, whole);
  const auto expected = contents(whole);
  const std::string program = fs::read_symlink("/proc/self/exe");
  ::setenv("KILN_TEST_CHECKPOINTS", parts.c_str(), 1);
  ::setenv("KILN_TEST_TRAINING", kind.c_str(), 1);

  Random random(test::is_long() ? static_cast<std::uint64_t>(::time(nullptr)) : 11);
  for (int killed = 0; killed < kills;) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::execl(program.c_str(), program.c_str(), "--gtest_filter=Checkpoints.DISABLED_Child",
              "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
      ::_exit(127);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(120'000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      ++killed;
      continue;
    }
    ASSERT_EQ(WEXITSTATUS(status), 0);
    ASSERT_EQ(contents(parts), expected) << "after " << killed;
    fs::remove_all(parts);
  }
  train(kind, parts);
  EXPECT_EQ(contents(parts), expected);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(parts)) ++files;
  EXPECT_EQ(files, 3u);  // the last two and the index: nothing that killed processes left
}

TEST(Checkpoints, GoOnToTheSameBitsAfterBeingKilledAnyNumberOfTimes) {
  expect_same_after_kills("line", test::is_long() ? 200 : 15);
}
TEST(Checkpoints, GoOnInHalfPrecisionAfterBeingKilled) { expect_same_after_kills("half", test::is_long() ? 100 : 6); }
TEST(Checkpoints, GoOnInAStreamAfterBeingKilled) { expect_same_after_kills("stream", test::is_long() ? 100 : 6); }

// The disk is full from some step on: the training says so and goes on, and what it came to at the end is an error.
TEST(Checkpoints, AreMissedByALearnerWhoseDiskIsFull) {
  const fs::path directory = fresh_directory("full-disk"), whole = fresh_directory("empty-disk");
  auto data = loader(37, {.batch_size = 4, .shuffle = true, .seed = 5});
  struct Fills {
    std::shared_ptr<std::optional<FullDisk>> disk;
    std::string index;
    void on(const training::Step& step) {
      if (step.at.step != 7) return;
      while (!fs::exists(index) || read_text_file(index).find("step-6.kiln") == std::string::npos)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until that is written
      disk->emplace();
    }
  };
  const auto disk = std::make_shared<std::optional<FullDisk>>();
  Heard heard;
  std::string sentence;
  {
    auto learner = line_learner({.steps = 20, .seed = 9}, 0.25);
    learner.rate(1e-3).checkpoints(directory, {.every_steps = 3, .every_epochs = {}, .last = 2}).add(heard);
    learner.add(Fills{disk, (directory / "index.json").string()});
    sentence = sentence_of([&] { return learner.fit(data); });
    EXPECT_EQ(learner.position().step, 20);
    disk->reset();
  }
  const auto cannot = [&](int step) {
    return text("cannot write ", (directory / text("step-", step, ".kiln")).string(), ": File too large");
  };
  EXPECT_EQ(sentence, "IoError: " + cannot(20));
  std::vector<std::string> notes;
  for (const auto& note : heard.of<training::Message>()) notes.push_back(note.text);
  EXPECT_EQ(notes, (std::vector<std::string>{cannot(9), cannot(12), cannot(15), cannot(18)}));
  EXPECT_EQ(Checkpointer(directory, {}).latest(), (directory / "step-6.kiln").string());

  // And once there is room, it goes on from there to the same end.
  for (const fs::path& folder : {directory, whole}) {
    auto learner = line_learner({.steps = 20, .seed = 9}, 0.25);
    learner.checkpoints(folder, {.every_steps = 3, .every_epochs = {}, .last = 2});
    auto same = loader(37, {.batch_size = 4, .shuffle = true, .seed = 5});
    learner.fit(same);
  }
  EXPECT_EQ(contents(directory), contents(whole));
}

// The logs of a training miss what does not fit on the disk; the training misses nothing.
TEST(Logs, OfALearnerOutliveAFullDisk) {
  const fs::path directory = fresh_directory("full-of-logs");
  fs::create_directories(directory);
  auto data = loader(37, {.batch_size = 4, .shuffle = true, .seed = 5});
  auto plain = line_learner({.steps = 20, .seed = 9}, 0.25);
  plain.fit(data);

  struct Fills {
    std::shared_ptr<std::optional<FullDisk>> disk;
    void on(const training::Step& step) {
      if (step.at.step == 7) disk->emplace();
      if (step.at.step == 15) disk->reset();
    }
  };
  Heard heard;
  auto logged = line_learner({.steps = 20, .seed = 9}, 0.25);
  logged.add(Fills{std::make_shared<std::optional<FullDisk>>()});
  logged.add(JsonLinesLog(directory / "log.jsonl")).add(CsvLog(directory / "log.csv"));
  logged.add(RunDirectory(directory / "run")).add(TensorBoard(directory / "board")).add(heard);
  EXPECT_EQ(logged.fit(data).reason, "all 20 steps are done");
  EXPECT_EQ(weights(logged.model()), weights(plain.model()));

  const std::string files[] = {"log.jsonl", "log.csv", "run", "board"};
  for (const std::string& name : files) {
    int begun = 0, ended = 0;
    for (const auto& note : heard.of<training::Message>()) {
      const bool about = note.text.find("cannot write " + (directory / name).string()) != std::string::npos &&
                         note.text.find("File too large") != std::string::npos;
      begun += about && note.text.ends_with("; the training goes on without it");
      ended += about && note.text.starts_with("a log lacks ");
    }
    EXPECT_EQ(begun, 1) << name;
    EXPECT_EQ(ended, 1) << name;
  }
  // What is there is whole lines: before the disk was full, and after.
  std::vector<std::int64_t> steps;
  const std::string lines = read_text_file((directory / "log.jsonl").string());
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    const auto line = std::get<Json::Object>(parse_json(std::string_view(lines).substr(at, end - at), "a line").is);
    if (std::get<std::string>(line.at(1).second.is) == "step")
      steps.push_back(std::get<std::int64_t>(line.at(0).second.is));
    at = end + 1;
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 15, 16, 17, 18, 19, 20}));

  // What cannot be written from the start is an error at the start.
  auto nowhere = line_learner({.steps = 2});
  nowhere.add(JsonLinesLog("/dev/full/log.jsonl"));
  EXPECT_NE(sentence_of([&] { return nowhere.fit(data); }).find("IoError: cannot write /dev/full/log.jsonl: "),
            std::string::npos);
}

}  // namespace
}  // namespace kiln
