// A training that is stopped, or killed, goes on to the same bits; checkpoints are kept by rules.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kiln/core/file.hpp"
#include "kiln/data/stream/sources.hpp"
#include "kiln/data/stream/steps.hpp"
#include "kiln/data/stream/stream_loader.hpp"
#include "kiln/train/early_stopping.hpp"
#include "tests/support/long.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/line.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

fs::path fresh_directory(const std::string& name) {
  const fs::path path = fs::temp_directory_path() / text("kiln-checkpoints-", ::getpid()) / name;
  fs::remove_all(path);
  return path;
}

/// Everything that has a state: dropout, shuffled batches from threads, steps of two batches, an average, a falling rate,
/// metrics, early stopping.
training::Ending train_line(const fs::path& directory, std::int64_t steps) {
  auto train = loader(37, {.batch_size = 4, .shuffle = true, .seed = 5, .workers = 2});
  auto valid = loader(11, {.batch_size = 4});
  auto learner = line_learner({.steps = steps, .accumulate = 2, .validate_every = 7, .seed = 9}, 0.25);
  learner.plateau({.initial = 0.1, .factor = 0.9, .patience = 1}).average(EmaConfig{.decay = 0.9});
  learner.metric(metric::MeanAbsoluteError{}).metric(metric::R2{}).add(EarlyStopping{.patience = 1000});
  learner.checkpoints(directory, {.every_steps = 3, .every_epochs = 1, .last = 2});
  return learner.fit(train, valid);
}

/// All that the newest checkpoint holds but the time.
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
    if (name != "value.at.seconds") all[name].assign(bytes.begin(), bytes.end());
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
training::Ending train_on_stream(const fs::path& directory, std::int64_t steps, std::optional<std::int64_t> batches) {
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

constexpr std::int64_t kSteps = 150;

// What the test below kills: a program of its own, this one.
TEST(Checkpoints, DISABLED_Child) { train_line(std::getenv("KILN_TEST_CHECKPOINTS"), kSteps); }

TEST(Checkpoints, GoOnToTheSameBitsAfterBeingKilledAnyNumberOfTimes) {
  const fs::path whole = fresh_directory("unkilled"), parts = fresh_directory("killed");
  train_line(whole, kSteps);
  const auto expected = contents(whole);
  const std::string program = fs::read_symlink("/proc/self/exe");
  ::setenv("KILN_TEST_CHECKPOINTS", parts.c_str(), 1);

  Random random(test::is_long() ? static_cast<std::uint64_t>(::time(nullptr)) : 11);
  int killed = 0;
  for (const int wanted = test::is_long() ? 200 : 15; killed < wanted;) {
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
  train_line(parts, kSteps);
  EXPECT_EQ(contents(parts), expected);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(parts)) ++files;
  EXPECT_EQ(files, 3u);  // the last two and the index: nothing that killed processes left
}

/// What a loop by hand does, with one number.
struct Counted {
  std::int64_t number = 0;
  training::Position at{};
  RecordedObjects all{};

  Counted() { all.add("number", number); }
  std::string step(Checkpointer& checkpoints, std::optional<double> value = {}, double hours = 0) {
    ++at.step;
    at.seconds += 3600 * hours;
    number = at.step * at.step;
    if (value) checkpoints.observe({at, "valid", {{"accuracy", *value}}});
    return checkpoints.save(all, at);
  }
};

std::string names(Checkpointer& checkpoints) {
  std::string steps;
  for (const auto& checkpoint : checkpoints.kept()) {
    EXPECT_TRUE(fs::exists(*checkpoints.latest()));
    steps += text(steps.empty() ? "" : " ", checkpoint.step);
  }
  return steps;
}

TEST(Checkpoints, AreKeptByRules) {
  Checkpointer last(fresh_directory("last"), {.last = 3});
  Counted counted;
  for (int i = 0; i < 7; ++i) counted.step(last);
  EXPECT_EQ(names(last), "5 6 7");

  Checkpointer best(fresh_directory("best"), {.last = 1, .best = 2, .metric = "accuracy", .rising = true});
  Counted again;
  for (const auto value : std::initializer_list<std::optional<double>>{0.5, 0.9, 0.7, {}, 0.8, 0.1, 0.0 / 0.0})
    again.step(best, value);
  EXPECT_EQ(names(best), "2 5 7");

  Checkpointer hours(fresh_directory("hours"), {.last = 1, .every_hours = 2.0});
  Counted slow;
  for (int i = 0; i < 8; ++i) slow.step(hours, {}, 0.75);  // 0.75, 1.5, 2.25, 3, 3.75, 4.5, 5.25, 6 hours
  EXPECT_EQ(names(hours), "1 3 6 8");

  Checkpointer due(fresh_directory("due"), {.every_steps = 4, .every_epochs = 2, .every_minutes = 10.0});
  EXPECT_TRUE(due.due({.step = 8}, false));
  EXPECT_FALSE(due.due({.epoch = 2, .step = 9}, false));
  EXPECT_TRUE(due.due({.epoch = 2, .step = 9}, true));
  EXPECT_FALSE(due.due({.epoch = 3, .step = 9}, true));
  EXPECT_TRUE(due.due({.step = 9, .seconds = 600}, false));
}

// A process that was killed between writing its index and removing what that no longer names.
TEST(Checkpoints, ThatNoIndexNamesAreRemovedByTheNextProcess) {
  const fs::path directory = fresh_directory("stray");
  {
    Checkpointer first(directory, {.last = 1});
    Counted counted;
    for (int i = 0; i < 3; ++i) counted.step(first);
  }
  fs::copy_file(directory / "step-3.kiln", directory / "step-2.kiln");
  Checkpointer next(directory, {.last = 1});
  EXPECT_FALSE(fs::exists(directory / "step-2.kiln"));
  EXPECT_EQ(names(next), "3");
  fs::remove(directory / "index.json");  // nobody knows then which are wanted
  EXPECT_EQ(names(next), "3");
  const Checkpointer without(directory, {.last = 1});
  EXPECT_TRUE(fs::exists(directory / "step-3.kiln"));
}

TEST(Checkpoints, HoldWhatWasThereWhenTheyWereTaken) {
  const fs::path directory = fresh_directory("snapshot");
  Line model = line();
  RecordedObjects all;
  all.add("model", model);
  const auto before = weights(model);
  const TensorSource snapshot = all.snapshot({});
  model.linear.weight = model.linear.weight.with_value(model.linear.weight * 2);
  all.restore(snapshot, "snapshot");
  EXPECT_EQ(weights(model), before);

  Checkpointer checkpoints(directory, {});
  const std::string file = checkpoints.save(all, {});
  checkpoints.finish();
  Line loaded = line();
  loaded.linear.weight = loaded.linear.weight.with_value(loaded.linear.weight * 3);
  load(loaded, file, {.under = "model"});
  EXPECT_EQ(weights(loaded), before);
}

TEST(Checkpoints, SayWhatIsWrongWithThem) {
  const fs::path directory = fresh_directory("wrong");
  Counted counted;
  std::string file;
  {
    Checkpointer checkpoints(directory, {}, parse_json(R"({"width": 3, "name": "a"})", "test"));
    file = counted.step(checkpoints);
    checkpoints.finish();
  }
  const auto restored = [&](const Json& configuration) {
    Checkpointer checkpoints(directory, {}, configuration);
    return sentence_of([&] {
      checkpoints.restore(counted.all, file);
      return 0;
    });
  };
  EXPECT_EQ(restored(parse_json(R"({"width": 3, "name": "a"})", "test")), "");
  EXPECT_EQ(restored(parse_json(R"({"width": 4, "name": "a"})", "test")),
            text("ConfigError: ", file, " belongs to another configuration: 'width' is 3 there and 4 here"));
  EXPECT_EQ(restored(parse_json(R"({"width": 3})", "test")),
            text("ConfigError: ", file, " belongs to another configuration: 'name' is not known here"));
  EXPECT_EQ(restored(parse_json(R"({"width": 3, "name": "a", "depth": 1})", "test")),
            text("ConfigError: ", file, " belongs to another configuration: 'depth' is not known there"));

  const Json same = parse_json(R"({"width": 3, "name": "a"})", "test");
  std::int64_t other = 0;
  counted.all.add("other", other);
  EXPECT_EQ(restored(same), text("LoadError: ", file, ": value 'other' is missing"));
  save_record(counted.number, file);
  EXPECT_EQ(restored(same), text("DataError: ", file, " is no checkpoint of a training"));
  save_record(counted.number, file, {.metadata = {{"kiln.training", "2"}}});
  EXPECT_EQ(restored(same), text("DataError: ", file,
                                 " is a checkpoint of version 2; this program reads version 1: take "
                                 "its model alone, by load() with .under = \"model\""));
  fs::resize_file(file, fs::file_size(file) - 9);
  EXPECT_NE(restored(same), "");

  EXPECT_EQ(sentence_of([&] { return Checkpointer(directory, {.last = 0}).kept().size(); }),
            "ArgumentError: checkpoints: last is 0, it must be at least 1");
  const fs::path occupied = directory / "file";
  std::ofstream(occupied) << "x";
  EXPECT_EQ(sentence_of([&] { return Checkpointer(occupied, {}).kept().size(); }),
            text("IoError: cannot save to ", occupied.string(), ": Not a directory"));
  EXPECT_EQ(sentence_of([&] {
              counted.all.add("number", other);
              return 0;
            }),
            "ArgumentError: training: there are two things called 'number'");
}

TEST(Checkpoints, OutliveAFullDisk) {
  const fs::path directory = fresh_directory("full");
  Checkpointer checkpoints(directory, {});
  Counted counted;
  const std::string first = counted.step(checkpoints);
  checkpoints.finish();
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit full{16, limit.rlim_max};
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &full);
  counted.step(checkpoints);
  const std::string sentence = sentence_of([&] {
    checkpoints.finish();
    return 0;
  });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(sentence, text("IoError: cannot write ", (directory / "step-2.kiln").string(), ": File too large"));
  EXPECT_EQ(Checkpointer(directory, {}).latest(), first);
  counted.step(checkpoints);
  checkpoints.finish();
  EXPECT_EQ(names(checkpoints), "1 3");
}

TEST(Checkpoints, BelongToALearnersConfiguration) {
  const fs::path directory = fresh_directory("configured");
  auto train = loader(8, {.batch_size = 4});
  const auto run = [&](const LearnerConfig& config, bool resume, const EarlyStopping& rule = {}) {
    auto learner = line_learner(config);
    learner.checkpoints(directory, {}, resume).add(rule);
    return learner.fit(train).at.step;
  };
  EXPECT_EQ(run({.epochs = 2}, true), 4);
  EXPECT_EQ(run({.epochs = 3, .log_every = 7}, true), 6);
  EXPECT_EQ(sentence_of([&] { return run({.epochs = 3, .seed = 1}, true); }),
            text("ConfigError: ", (directory / "step-6.kiln").string(),
                 " belongs to another configuration: 'learner.seed' is 0 there and 1 here"));
  EXPECT_EQ(run({.epochs = 1, .seed = 1}, false), 2);
  EXPECT_EQ(Checkpointer(directory, {}).latest(), (directory / "step-2.kiln").string());
  EXPECT_FALSE(fs::exists(directory / "step-6.kiln"));

  // One that early stopping ended does not go on where it is resumed.
  const EarlyStopping soon{.split = "train", .when = [](double) { return true; }};
  EXPECT_EQ(run({.epochs = 9, .seed = 1}, true, soon), 4);
  EXPECT_EQ(run({.epochs = 9, .seed = 1}, true, soon), 4);
}

}  // namespace
}  // namespace kiln
