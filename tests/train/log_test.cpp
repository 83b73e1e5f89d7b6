// What loggers write, and take back where a training is resumed.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "kiln/core/file.hpp"
#include "kiln/train/callbacks.hpp"
#include "kiln/train/log/asynchronous.hpp"
#include "kiln/train/log/files.hpp"
#include "kiln/train/log/progress.hpp"
#include "kiln/train/log/tensorboard.hpp"
#include "tests/support/full_disk.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/heard.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using training::Begin, training::RunEnd, training::Evaluation, training::Message, training::Saved, training::Step;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Steps (from, to], an evaluation after each second one.
template <class Logger>
void run(Logger logger, std::int64_t from, std::int64_t to) {
  const auto tell = [&](const auto& event) {
    if constexpr (requires { logger.on(event); }) logger.on(event);
  };
  tell(Begin{.at = {.step = from}, .batches = 4, .epochs = 2, .parameters = 7});
  for (std::int64_t step = from + 1; step <= to; ++step) {
    const training::Position at{
        .epoch = (step - 1) / 4, .batch = step - (step - 1) / 4 * 4, .step = step, .items = 8 * step};
    tell(Step{at, 1.0 / static_cast<double>(step), {0.5}, 8, 0.25});
    if (step % 2 == 0) tell(Evaluation{at, "valid", {{"loss", 0.5}, {"a/b \"c\"", kNan, "nothing was measured"}}});
  }
  tell(Saved{{.step = to}, "run/step.kiln"});
  tell(RunEnd{{.epoch = 1, .step = to}, "all \"done\""});
}

TEST(Logs, AreLinesOfJson) {
  const fs::path path = fresh_directory("json") / "log.jsonl";
  run(JsonLinesLog(path), 0, 2);
  EXPECT_EQ(read_text_file(path.string()),
            R"({"step":1,"event":"step","epoch":0,"loss":1,"rates":[0.5],"items":8,"seconds":0.25}
{"step":2,"event":"step","epoch":0,"loss":0.5,"rates":[0.5],"items":8,"seconds":0.25}
{"step":2,"event":"valid","epoch":0,"complete":true,"metrics":{"loss":0.5,"a/b \"c\"":null}}
{"step":2,"event":"saved","epoch":0,"file":"run/step.kiln"}
{"step":2,"event":"end","epoch":1,"reason":"all \"done\""}
)");
  std::string line;
  for (std::ifstream file(path); std::getline(file, line);) EXPECT_NO_THROW(parse_json(line, "log"));
  EXPECT_EQ(json_text("a\nb\xff"), R"("a\u000ab\u00ff")");
  EXPECT_EQ(json_text("61 \xc2\xb0"
                      "C \xc2"),
            "\"61 \xc2\xb0"
            "C \\u00c2\"");  // what is UTF-8 stays that
}

TEST(Logs, HaveTheWordsOfMetrics) {
  const fs::path directory = fresh_directory("words");
  const Evaluation sample{
      {.epoch = 1, .step = 7}, "valid", {{"loss", 0.5}, {"sample", kNan, {}, "two\nlines, \"so\""}}};
  const auto tell = [&](auto logger) {
    logger.on(Begin{.at = {.step = 0}});
    logger.on(sample);
  };
  tell(JsonLinesLog(directory / "log.jsonl"));
  EXPECT_EQ(read_text_file((directory / "log.jsonl").string()),
            "{\"step\":7,\"event\":\"valid\",\"epoch\":1,\"complete\":true,\"metrics\":{\"loss\":0.5,\"sample\":"
            "\"two\\u000alines, \\\"so\\\"\"}}\n");
  tell(CsvLog(directory / "log.csv"));
  EXPECT_EQ(read_text_file((directory / "log.csv").string()),
            "step,epoch,split,metric,value\n7,1,valid,loss,0.5\n7,1,valid,sample,\"two\\nlines, \"\"so\"\"\"\n");
  tell(RunDirectory(directory / "run"));
  EXPECT_EQ(read_text_file((directory / "run/valid/epoch-2/sample.log").string()),
            "7 \"two\\u000alines, \\\"so\\\"\"\n");
  EXPECT_EQ(sentence_of(sample), "valid: loss 0.5, sample \"two\\x0alines, \"so\"\"");
  tell(TensorBoard(directory / "board"));
  for (const auto& entry : fs::directory_iterator(directory / "board")) {
    const std::string events = read_text_file(entry.path().string());
    EXPECT_NE(events.find("valid/sample"), events.npos);
    EXPECT_NE(events.find("two\nlines, \"so\""), events.npos);
  }
}

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

TEST(Logs, AreTheSameWhereATrainingWasKilledAndResumed) {
  const fs::path whole = fresh_directory("whole"), killed = fresh_directory("killed");
  const auto log_to = [](const fs::path& directory, std::int64_t from, std::int64_t to) {
    run(CsvLog(directory / "log.csv"), from, to);
    run(RunDirectory(directory), from, to);
  };
  log_to(whole, 0, 8);
  log_to(killed, 0, 7);
  std::ofstream(killed / "log.csv", std::ios::app) << "8,1,st";  // in the middle of a line
  log_to(killed, 3, 8);                                          // from the checkpoint of step 3
  for (const char* name : {"log.csv", "valid/epoch-1/loss.log", "valid/epoch-2/a_b__c_.log"})
    EXPECT_EQ(read_text_file((killed / name).string()), read_text_file((whole / name).string())) << name;
  EXPECT_EQ(read_text_file((whole / "valid/epoch-1/loss.log").string()), "2 0.5\n4 0.5\n");
  log_to(killed, 0, 1);  // another training in its place
  EXPECT_EQ(read_text_file((killed / "log.csv").string()),
            "step,epoch,split,metric,value\n1,0,step,loss,1\n1,0,step,rate,0.5\n");
}

TEST(Logs, HoldOnlyWhatTheTrainingMeasuredThatBeganLast) {
  const fs::path path = fresh_directory("again");
  run(RunDirectory(path), 0, 12);  // three epochs
  std::ofstream(path / "valid/epoch-3/notes.txt") << "mine";
  run(RunDirectory(path), 0, 4);
  EXPECT_EQ(read_text_file((path / "valid/epoch-1/loss.log").string()), "2 0.5\n4 0.5\n");
  EXPECT_FALSE(fs::exists(path / "valid/epoch-2"));
  EXPECT_TRUE(fs::exists(path / "valid/epoch-3/notes.txt"));
  EXPECT_FALSE(fs::exists(path / "valid/epoch-3/loss.log"));

  // And one that is resumed takes back later epochs as well.
  run(RunDirectory(path), 0, 12);
  run(RunDirectory(path), 6, 7);
  EXPECT_EQ(read_text_file((path / "valid/epoch-2/loss.log").string()), "6 0.5\n");
  EXPECT_FALSE(fs::exists(path / "valid/epoch-3/loss.log"));
}

TEST(Logs, LeaveADirectoryAloneThatIsNoTrainings) {
  const fs::path path = fresh_directory("own");
  fs::create_directories(path / "tree/epoch-3");
  std::ofstream(path / "tree/epoch-3/diary.log") << "a line of mine\n";
  run(RunDirectory(path), 0, 2);
  EXPECT_EQ(read_text_file((path / "tree/epoch-3/diary.log").string()), "a line of mine\n");

  fs::remove(path / "experiment.log");
  fs::remove_all(path / "valid");
  std::ofstream(path / "config.json") << "mine";
  const Json config = parse_json(R"({"width": 3})", "test");
  EXPECT_EQ(sentence_of([&] { return run(RunDirectory(path, config), 0, 2), 0; }),
            "ConfigError: " + (path / "config.json").string() +
                " exists already, and no training was logged here: choose another directory");
  EXPECT_EQ(read_text_file((path / "config.json").string()), "mine");
  EXPECT_FALSE(fs::exists(path / "experiment.log"));
  EXPECT_FALSE(fs::exists(path / "valid"));
}

/// A log of so many lines, and what it holds then.
std::string written(const fs::path& path, int lines) {
  LineLog log(path, "step,value");
  for (int step = 1; step <= lines; ++step) log.write(text(step, ",0.5"));
  return read_text_file(path.string());
}

TEST(Logs, AreNeverAwayWhileTheyAreTakenBack) {
  const fs::path path = fresh_directory("away") / "log.csv";
  const std::string kept = written(path, 5000);
  for (int kill = 0; kill < 10; ++kill) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (;;) {  // resumes again and again
        LineLog log(path, "step,value");
        log.begin(5000);
        log.write("5001,0.5");
      }
    ::usleep(static_cast<useconds_t>(2000 + 700 * kill));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_EQ(read_text_file(path.string()).substr(0, kept.size()), kept) << "after " << kill;
  }

  LineLog log(path, "step,value");
  const std::string before = read_text_file(path.string());
  std::string sentence;
  {
    const FullDisk full;
    sentence = sentence_of([&] { return log.begin(4000), 0; });
  }
  EXPECT_EQ(sentence, text("IoError: cannot write ", path.string(), ": File too large"));
  EXPECT_EQ(read_text_file(path.string()), before);
  log.begin(4000);
  log.write("4001,0.25");
  const std::string after = read_text_file(path.string());
  EXPECT_EQ(after, written(path, 4000) + "4001,0.25\n");
}

TEST(Logs, SayThatTheDiskIsFull) {
  const Step step{{.step = 1}, 0.5, {0.1}, 1, 0.1};
  const std::string sentence = "IoError: cannot write /dev/full: No space left on device";
  EXPECT_EQ(sentence_of([&] { return JsonLinesLog("/dev/full").on(step), 0; }), sentence);
  EXPECT_EQ(sentence_of([&] { return CsvLog("/dev/full").on(step), 0; }), sentence);

  const fs::path directory = fresh_directory("full");
  RunDirectory run(directory);
  TensorBoard board(directory / "board");
  run.on(Begin{.batches = 1});
  board.on(Begin{.batches = 1});
  std::string of_run, of_board;
  {
    const FullDisk full;
    of_run = sentence_of([&] { return run.on(Message{"a sentence longer than what there is"}), 0; });
    of_board = sentence_of([&] { return board.on(step), board.on(RunEnd{}), 0; });
  }
  EXPECT_EQ(of_run.find("IoError: cannot write " + (directory / "experiment.log").string()), 0u) << of_run;
  EXPECT_EQ(of_board.find("IoError: cannot write " + (directory / "board").string()), 0u) << of_board;
}

TEST(Logs, AreADirectoryForPeople) {
  const fs::path path = fresh_directory("people");
  run(RunDirectory(path, parse_json(R"({"width": 3})", "test")), 0, 2);
  EXPECT_EQ(read_text_file((path / "config.json").string()), "{\n  \"width\": 3\n}\n");
  std::string sentences, line;
  for (std::ifstream file(path / "experiment.log"); std::getline(file, line);) sentences += line.substr(20) + '\n';
  EXPECT_EQ(sentences,
            "begins: 7 parameters, 4 batches an epoch\n"
            "step 2, valid: loss 0.5; nothing was measured\nsaves run/step.kiln\nends after step 2: all \"done\"\n");
  EXPECT_NE(sentence_of([] {
              run(CsvLog("/proc/none/log.csv"), 0, 1);
              return 0;
            }),
            "");
}

// A reader of TensorBoard's files, for what is written there: fields by number, of records whose checksums are right.
struct Field {
  int number = 0;
  std::uint64_t value = 0;
  std::string bytes = {};
  double as_double() const { return std::bit_cast<double>(value); }
};
std::vector<Field> fields(std::string_view bytes) {
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      number |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
  };
  const auto fixed = [&](std::size_t size) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.substr(at, size).data(), size);
    at += size;
    return number;
  };
  std::vector<Field> found;
  while (at < bytes.size()) {
    const std::uint64_t key = varint();
    Field field{static_cast<int>(key >> 3)};
    switch (key & 7) {
      case 0: field.value = varint(); break;
      case 1: field.value = fixed(8); break;
      case 5: field.value = fixed(4); break;
      default: {
        const std::uint64_t size = varint();
        field.bytes = bytes.substr(at, size);
        at += size;
      }
    }
    found.push_back(field);
  }
  return found;
}
std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint64_t crc = 0xffffffff;
  for (const char byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      const bool one = (crc ^ static_cast<unsigned char>(byte) >> bit) & 1;
      crc = crc >> 1 ^ (one ? 0x82f63b78 : 0);
    }
  return ~static_cast<std::uint32_t>(crc);
}
std::vector<std::string> records(const fs::path& file) {
  const std::string bytes = read_text_file(file.string());
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t n = 0;
    std::memcpy(&n, bytes.data() + at, size);
    return n;
  };
  const auto masked = [](std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; };
  std::vector<std::string> found;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t size = number(at, 8);
    EXPECT_EQ(number(at + 8, 4), masked(slow_crc32c(bytes.substr(at, 8))));
    found.push_back(bytes.substr(at + 12, size));
    EXPECT_EQ(number(at + 12 + size, 4), masked(slow_crc32c(found.back())));
    at += 16 + size;
  }
  return found;
}

TEST(TensorBoard, IsGivenRecordsWithChecksums) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);            // the check value of the CRC's catalogues
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EventFile file(fresh_directory("events"), 5);
  file.scalar("valid/loss", 0.375, 300);
  file.histogram("weights", std::vector<float>{0, 0.25f, 1, 1, std::numeric_limits<float>::infinity()}, 6, 2);
  file.image("picture", {.pixels = {0, 1}, .height = 1, .width = 2}, 7);
  file.text("note", "words", 8);

  const auto found = records(file.path());
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(fields(found[0]).at(2).bytes, "brain.Event:2");
  EXPECT_EQ(fields(found[1]).at(1).value, 5u);
  EXPECT_EQ(fields(found[1]).at(2).number, 7);  // a session log
  const auto scalar = fields(found[2]);
  EXPECT_GT(scalar.at(0).as_double(), 1.6e9);
  EXPECT_EQ(scalar.at(1).value, 300u);
  const auto value = fields(fields(scalar.at(2).bytes).at(0).bytes);
  EXPECT_EQ(value.at(0).bytes, "valid/loss");
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(value.at(1).value)), 0.375f);
  const auto histogram = fields(fields(fields(fields(found[3]).at(2).bytes).at(0).bytes).at(1).bytes);
  EXPECT_EQ(histogram.at(2).as_double(), 4);     // the finite ones
  EXPECT_EQ(histogram.at(3).as_double(), 2.25);  // their sum
  double counts[2];
  std::memcpy(counts, histogram.at(6).bytes.data(), sizeof counts);
  EXPECT_EQ(counts[0], 2);
  EXPECT_EQ(counts[1], 2);
  const auto image = fields(fields(fields(fields(found[4]).at(2).bytes).at(0).bytes).at(1).bytes);
  EXPECT_EQ(image.at(1).value, 2u);
  EXPECT_EQ(image.at(3).bytes.substr(1, 3), "PNG");
}

TEST(TensorBoard, IsGivenHyperParameters) {
  EventFile file(fresh_directory("hparams"), 0);
  const std::vector<std::string> metrics = {"valid/loss"};
  file.hyper_parameters(
      parse_json(R"({"rate": 0.5, "seed": 7, "name": "adam", "sizes": [1, 2], "o": {"on": true}})", "x"), metrics);
  file.ended(true, 9);
  const auto found = records(file.path());
  ASSERT_EQ(found.size(), 5u);
  // The message that the plugin is given, beside the tag of its summary.
  const auto message = [&](std::size_t record, const std::string& tag) {
    const auto value = fields(fields(fields(found[record]).at(2).bytes).at(0).bytes);
    EXPECT_EQ(value.at(0).bytes, tag);
    const auto plugin = fields(fields(value.at(2).bytes).at(0).bytes);
    EXPECT_EQ(plugin.at(0).bytes, "hparams");
    return fields(fields(plugin.at(1).bytes).at(0).bytes);
  };
  const auto experiment = message(2, "_hparams_/experiment");
  ASSERT_EQ(experiment.size(), 6u);
  EXPECT_EQ(fields(experiment[0].bytes).at(0).bytes, "rate");
  EXPECT_EQ(fields(experiment[4].bytes).at(0).bytes, "o.on");
  EXPECT_EQ(fields(fields(experiment[5].bytes).at(0).bytes).at(0).bytes, "valid/loss");
  const auto start = message(3, "_hparams_/session_start_info");
  const auto value = [&](std::size_t i) { return fields(fields(start.at(i).bytes).at(1).bytes).at(0); };
  EXPECT_EQ(value(0).as_double(), 0.5);
  EXPECT_EQ(value(1).as_double(), 7);
  EXPECT_EQ(value(2).bytes, "adam");
  EXPECT_EQ(value(3).bytes, "[  1,  2]");
  EXPECT_EQ(value(4).number, 4);
  EXPECT_GT(start.at(5).as_double(), 1.6e9);
  EXPECT_EQ(message(4, "_hparams_/session_end_info").at(0).value, 1u);
}

std::string printed(const auto& use) {
  std::FILE* const file = std::tmpfile();
  use(file);
  EXPECT_EQ(std::fseek(file, 0, SEEK_SET), 0);
  std::string out(1 << 12, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), file));
  std::fclose(file);
  return out;
}

TEST(ProgressLines, ArePlainWhereThereIsNoTerminal) {
  EXPECT_EQ(printed([](std::FILE* file) { run(ProgressLines(file), 0, 4); }),
            "epoch 1/2, step 2, valid: loss 0.5; nothing was measured\nepoch 1/2, step 4, valid: loss 0.5; nothing was "
            "measured\n"
            "ends after step 4, 0:00: all \"done\"\n");
  EXPECT_EQ(bar(0.5, 4, true), "##  ");
  EXPECT_EQ(bar(0.375, 2), "▊ ");
  EXPECT_EQ(duration_text(3725), "1:02:05");
  EXPECT_EQ(duration_text(59.5), "1:00");
  EXPECT_EQ(duration_text(-1), "0:00");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "1000000:00:00");
  EXPECT_EQ(duration_text(kNan), "0:00");
}

TEST(Progress, KnowsWhatIsLeft) {
  Progress progress;
  progress.on(Begin{.batches = 10, .epochs = 4});
  for (std::int64_t step = 1; step <= 15; ++step)
    progress.on(Step{{.epoch = step / 10, .batch = step % 10, .step = step}, 0.1, {0.5}, 32, 0.5});
  EXPECT_DOUBLE_EQ(progress.share(), 15.0 / 40);
  EXPECT_NEAR(progress.seconds_left(), 12.5, 1e-9);
  EXPECT_NEAR(progress.items_per_second(), 64, 1e-9);
  EXPECT_EQ(progress.epoch_text(), "2/4");
}

TEST(Progress, GoesByTheLimitThatIsReachedFirst) {
  const auto after = [](const Begin& begin) {
    Progress progress;
    progress.on(begin);
    for (std::int64_t step = 1; step <= 15; ++step)
      progress.on(
          Step{{.epoch = step / 10, .batch = step % 10, .step = step, .seconds = 0.5 * static_cast<double>(step)},
               0.1,
               {0.5},
               32,
               0.5});
    return progress;
  };
  const Progress seconds = after({.batches = 10, .epochs = 100, .seconds = 9.0});
  EXPECT_NEAR(seconds.seconds_left(), 1.5, 1e-9);
  EXPECT_NEAR(seconds.share(), 7.5 / 9, 1e-9);
  EXPECT_NEAR(after({.batches = 10, .seconds = 9.0}).seconds_left(), 1.5, 1e-9);
  EXPECT_NEAR(after({.batches = 10, .epochs = 2, .seconds = 900.0}).seconds_left(), 2.5, 1e-9);
  EXPECT_NEAR(after({.batches = 10, .epochs = 100, .steps = 17, .seconds = 900.0}).seconds_left(), 1, 1e-9);
  EXPECT_EQ(after({.batches = 10, .seconds = 5.0}).seconds_left(), 0);
}

}  // namespace
}  // namespace kiln
