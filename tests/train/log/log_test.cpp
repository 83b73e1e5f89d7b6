// What loggers write, and take back where a training is resumed.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include "kiln/core/file.hpp"
#include "kiln/train/log/files.hpp"
#include "kiln/train/log/tensorboard.hpp"
#include "tests/support/full_disk.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/log/logged.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using training::Begin, training::RunEnd, training::Evaluation, training::Message, training::Step;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

}  // namespace
}  // namespace kiln
