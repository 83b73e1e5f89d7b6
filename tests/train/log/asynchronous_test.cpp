// Loggers that write in a thread of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "kiln/core/file.hpp"
#include "kiln/train/callbacks.hpp"
#include "kiln/train/log/asynchronous.hpp"
#include "kiln/train/log/files.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/heard.hpp"
#include "tests/train/log/logged.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using training::Begin, training::RunEnd, training::Message, training::Step;

/// Keeps the steps that it is told of, once it may.
struct Gated {
  static constexpr bool kIsALog = true;
  std::shared_future<void> gate{};
  std::shared_ptr<std::vector<std::int64_t>> steps = std::make_shared<std::vector<std::int64_t>>();
  void on(const Step& step) {
    if (gate.valid()) gate.wait();
    require<IoError>(step.at.step % 10 != 0, "no room for step ", step.at.step);
    steps->push_back(step.at.step);
  }
  void on(const RunEnd&) {}
};
Step step_at(std::int64_t step) { return {.at = {.step = step}}; }

TEST(Asynchronous, WritesTheSameFiles) {
  const fs::path directory = fresh_directory("asynchronous");
  run(JsonLinesLog(directory / "here.jsonl"), 0, 8);
  run(Asynchronous(JsonLinesLog(directory / "there.jsonl")), 0, 8);
  EXPECT_EQ(read_text_file((directory / "there.jsonl").string()), read_text_file((directory / "here.jsonl").string()));
  static_assert(!training::kReceives<Asynchronous<CsvLog>, Message>);
  static_assert(training::kIsCallback<Asynchronous<CsvLog>> && Asynchronous<CsvLog>::kIsALog);
}

TEST(Asynchronous, KeepsTheOrderAndABoundedNumberOfEvents) {
  std::promise<void> gate;
  const Gated logger{.gate = gate.get_future()};
  Asynchronous log(logger, 3);
  std::atomic<std::int64_t> added{0};
  std::thread training([&] {
    for (std::int64_t step = 1; step < 10; ++step) {
      log.on(step_at(step));
      ++added;
    }
  });
  while (added < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(added, 3);  // the training waits
  gate.set_value();
  training.join();
  log.flush();
  EXPECT_EQ(*logger.steps, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(sentence_of([&] { return Asynchronous(logger, 0), 0; }),
            "ArgumentError: Asynchronous: 0 events may wait: it must be at least 1");
}

TEST(Asynchronous, TellsOfEachErrorOnce) {
  const Gated logger;
  Asynchronous log(logger);
  log.on(step_at(10));
  EXPECT_EQ(sentence_of([&] { return log.flush(), 0; }), "IoError: no room for step 10");
  log.flush();
  for (const std::int64_t step : {20, 30, 40}) {
    try {
      log.on(step_at(step));
    } catch (const IoError&) {}
  }
  std::promise<void> gate;
  Asynchronous slow(Gated{.gate = gate.get_future()});
  for (const std::int64_t step : {1, 20, 30, 40}) slow.on(step_at(step));
  gate.set_value();
  EXPECT_EQ(sentence_of([&] { return slow.on(RunEnd{}), 0; }),
            "IoError: no room for step 20 (and 2 more errors of this log)");
  EXPECT_EQ(*logger.steps, std::vector<std::int64_t>{});
  // A log that cannot be opened is told of at once.
  const fs::path file = fresh_directory("no directory") / "file";
  fs::create_directories(file.parent_path());
  write_file_atomically(file.string(), std::string_view("in the way"));
  EXPECT_EQ(sentence_of([&] { return Asynchronous(CsvLog(file / "log.csv")).on(Begin{}), 0; }).substr(0, 9),
            "IoError: ");
}

/// Cannot write a step after some time; has errors of two kinds.
struct Failing {
  static constexpr bool kIsALog = true;
  bool is_io = true;
  std::shared_future<void> gate{};
  void on(const Step& step) {
    if (gate.valid()) gate.wait();
    if (!is_io) throw std::runtime_error(text("step ", step.at.step));
    fail<IoError>("no room for step ", step.at.step);
  }
  void on(const RunEnd&) {}
};

TEST(Asynchronous, CountsAllErrors) {
  std::promise<void> gate;
  Asynchronous log(Failing{.is_io = false, .gate = gate.get_future()});
  for (const std::int64_t step : {1, 2, 3}) log.on(step_at(step));
  gate.set_value();
  std::string said;
  try {
    log.flush();
  } catch (const std::exception& error) { said = error.what(); }
  EXPECT_EQ(said, "step 1 (and 2 more errors of this log)");
  EXPECT_TRUE(log.take_errors().empty());
}

TEST(Asynchronous, ReportsWhatIsStillWritten) {
  for (const bool is_io : {true, false}) {
    TrainingRun trained({.steps = 4});
    RecordedObjects objects;
    training::Callbacks callbacks;
    Heard heard;
    std::promise<void> gate;
    callbacks.add(trained, objects, Asynchronous(Failing{.is_io = is_io, .gate = gate.get_future()}));
    callbacks.add(trained, objects, heard);
    for (const std::int64_t step : {1, 2, 3, 4}) trained.notify(step_at(step));
    gate.set_value();
    std::string said;
    try {
      callbacks.report_missed(trained);
    } catch (const std::exception& error) { said = error.what(); }
    const auto notes = heard.of<Message>();
    if (is_io) {
      EXPECT_EQ(said, "");
      ASSERT_EQ(notes.size(), 1u);
      EXPECT_EQ(notes[0].text, "a log lacks 4 of the training's events: no room for step 1");
    } else {
      EXPECT_EQ(said, "step 1 (and 3 more errors of this log)");
      EXPECT_TRUE(notes.empty());
    }
  }
}

}  // namespace
}  // namespace kiln
