// Checkpoints are kept by rules, and say what is wrong with them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <thread>

#include "kiln/core/file.hpp"
#include "kiln/optim/schedule/cycle.hpp"
#include "kiln/train/early_stopping.hpp"
#include "tests/support/full_disk.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/line.hpp"

namespace {

std::atomic<bool> starves{false};  // no thread but this one gets memory
const std::thread::id kFed = std::this_thread::get_id();

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return starves && std::this_thread::get_id() != kFed ? nullptr : std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  return memory ? memory : throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace kiln {
namespace {

namespace fs = std::filesystem;

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

TEST(Checkpoints, AreWrittenForEvaluationsAmongTheBest) {
  const fs::path directory = fresh_directory("candidates");
  const CheckpointRules rules{
      .every_steps = 1000, .every_epochs = {}, .last = 1, .best = 2, .metric = "accuracy", .rising = true};
  Counted counted;
  const auto saves = [&](Checkpointer& checkpoints, std::optional<double> value) {
    ++counted.at.step;
    if (value) checkpoints.observe({counted.at, "valid", {{"accuracy", *value}}});
    const bool due = checkpoints.due(counted.at, false);
    if (due) checkpoints.save(counted.all, counted.at);
    return due;
  };
  {
    Checkpointer checkpoints(directory, rules);
    std::string saved;
    for (const auto value : std::initializer_list<std::optional<double>>{0.5, 0.9, 0.7, {}, 0.8, 0.1, 0.0 / 0.0, 0.8})
      saved += saves(checkpoints, value) ? 'x' : '-';
    EXPECT_EQ(saved, "xxx-x---");
    EXPECT_EQ(names(checkpoints), "2 5");
    {
      const FullDisk full;
      EXPECT_TRUE(saves(checkpoints, 0.95));
      EXPECT_NE(sentence_of([&] { return checkpoints.finish(), 0; }), "");
    }
    EXPECT_TRUE(saves(checkpoints, 0.85));  // what was not written is not among them
    EXPECT_EQ(names(checkpoints), "2 10");
  }
  {
    Checkpointer resumed(directory, rules);
    EXPECT_FALSE(saves(resumed, 0.85));
    EXPECT_TRUE(saves(resumed, 0.87));
    EXPECT_EQ(names(resumed), "2 12");
  }
  CheckpointRules other = rules;
  other.metric = "loss";  // of which nothing is known yet
  other.rising = false;
  Checkpointer renamed(directory, other);
  ASSERT_FALSE(renamed.kept().empty());
  EXPECT_FALSE(renamed.kept()[0].value.has_value());
  EXPECT_EQ(sentence_of([&] { return renamed.observe({{}, "valid", {{"accuracy", 1}}}), 0; }),
            "ArgumentError: checkpoints: the evaluation 'valid' has no metric 'loss'; it has 'accuracy'");
}

// As where a training is validated more often than it is saved.
TEST(Checkpoints, HaveTheBestOfALearner) {
  const fs::path directory = fresh_directory("best-of-all");
  auto train = loader(40, {.batch_size = 4, .shuffle = true}), valid = loader(8, {.batch_size = 8});
  auto learner = line_learner({.steps = 30, .validate_every = 3});
  learner.checkpoints(directory, {.every_steps = 1000, .every_epochs = {}, .last = 1, .best = 2});
  struct Values {
    std::shared_ptr<std::map<double, std::int64_t>> steps = std::make_shared<std::map<double, std::int64_t>>();
    void on(const training::Evaluation& e) {
      if (e.split == "valid") steps->emplace(e.find("loss")->value, e.at.step);
    }
  } values;
  learner.rate(0.3).add(values).fit(train, valid);
  std::set<std::int64_t> wanted = {30};
  for (auto best = values.steps->begin(); wanted.size() < 3 && best != values.steps->end(); ++best)
    wanted.insert(best->second);
  Checkpointer kept(directory, {});
  std::set<std::int64_t> found;
  for (const auto& checkpoint : kept.kept()) found.insert(checkpoint.step);
  EXPECT_EQ(found, wanted);
}

TEST(Checkpoints, TellOfMissingMemoryAsOfAFullDisk) {
  const fs::path directory = fresh_directory("starved");
  Counted counted;
  Checkpointer checkpoints(directory, {});
  starves = true;
  counted.step(checkpoints);
  const std::string sentence = sentence_of([&] { return checkpoints.finish(), 0; });
  starves = false;
  EXPECT_EQ(sentence, "MemoryError: the system gives no more memory");
  counted.step(checkpoints);
  checkpoints.finish();
  EXPECT_EQ(names(checkpoints), "2");
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

TEST(Checkpoints, LeaveOthersFilesAlone) {
  const fs::path directory = fresh_directory("others");
  fs::create_directories(directory);
  for (const char* const name : {"step-.kiln", "step-best.kiln", "step-1.kiln.bak", "model.kiln", "step-1", "9.kiln"})
    std::ofstream(directory / name) << "mine";
  Checkpointer checkpoints(directory, {.last = 1});
  Counted counted;
  for (int i = 0; i < 3; ++i) counted.step(checkpoints);
  checkpoints.finish();
  for (const char* const name : {"step-.kiln", "step-best.kiln", "step-1.kiln.bak", "model.kiln", "step-1", "9.kiln"})
    EXPECT_TRUE(fs::exists(directory / name)) << name;
  EXPECT_FALSE(fs::exists(directory / "step-2.kiln"));
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
  const std::string remedy = "; go on with what it was, or begin anew in another directory";
  EXPECT_EQ(restored(parse_json(R"({"width": 3, "name": "a"})", "test")), "");
  EXPECT_EQ(restored(parse_json(R"({"width": 4, "name": "a"})", "test")),
            text("ConfigError: ", file, " belongs to another configuration: 'width' is 3 there and 4 here", remedy));
  EXPECT_EQ(restored(parse_json(R"({"width": 3})", "test")),
            text("ConfigError: ", file, " belongs to another configuration: 'name' is not known here", remedy));
  EXPECT_EQ(restored(parse_json(R"({"width": 3, "name": "a", "depth": 1})", "test")),
            text("ConfigError: ", file, " belongs to another configuration: 'depth' is not known there", remedy));

  EXPECT_EQ(restored(parse_json(R"({"width": 4, "depth": 1})", "test")),
            text("ConfigError: ", file,
                 " belongs to another configuration: 'width' is 3 there and 4 here, 'name' is not "
                 "known here, 'depth' is not known there",
                 remedy));

  const Json same = parse_json(R"({"width": 3, "name": "a"})", "test");
  std::int64_t other = 0;
  counted.all.add("other", other);
  EXPECT_EQ(restored(same),
            text("LoadError: ", file, ": value 'other' is missing\n  it is a checkpoint of another training", remedy,
                 "; load() with .under = \"model\" reads its model alone"));
  save_record(counted.number, file);
  EXPECT_EQ(restored(same), text("DataError: ", file, " is not a checkpoint of a training"));
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
            "ArgumentError: training: there are two objects called 'number'");
}

TEST(Checkpoints, OutliveAFullDisk) {
  const fs::path directory = fresh_directory("full");
  Checkpointer checkpoints(directory, {});
  Counted counted;
  const std::string first = counted.step(checkpoints);
  checkpoints.finish();
  std::string sentence;
  {
    const FullDisk full;
    counted.step(checkpoints);
    sentence = sentence_of([&] { return checkpoints.finish(), 0; });
  }
  EXPECT_EQ(sentence, text("IoError: cannot write ", (directory / "step-2.kiln").string(), ": File too large"));
  EXPECT_EQ(Checkpointer(directory, {}).latest(), first);
  counted.step(checkpoints);
  checkpoints.finish();
  EXPECT_EQ(names(checkpoints), "1 3");
}

TEST(Checkpoints, BelongToALearnersConfiguration) {
  const fs::path directory = fresh_directory("configured");
  auto train = loader(8, {.batch_size = 4});
  const auto run = [&](const LearnerConfig& config, bool resume, const EarlyStopping& rule = {.split = "train"}) {
    auto learner = line_learner(config);
    learner.checkpoints(directory, {}, resume).add(rule);
    return learner.fit(train).at.step;
  };
  EXPECT_EQ(run({.epochs = 2}, true), 4);
  EXPECT_EQ(run({.epochs = 3, .log_every = 7}, true), 6);
  EXPECT_EQ(
      sentence_of([&] { return run({.epochs = 3, .seed = 1}, true); }),
      text("ConfigError: ", (directory / "step-6.kiln").string(),
           " belongs to another configuration: 'learner.seed' is 0 there and 1 here; go on with what it was, or begin "
           "anew in another directory"));
  EXPECT_EQ(run({.epochs = 1, .seed = 1}, false), 2);
  EXPECT_EQ(Checkpointer(directory, {}).latest(), (directory / "step-2.kiln").string());
  EXPECT_FALSE(fs::exists(directory / "step-6.kiln"));

  // Nor does one go on with another optimizer, other rates or other data, unless it is told to.
  const auto resumed = [&](const auto& change, const LoaderConfig& loaded = {.batch_size = 4}, bool exact = true) {
    auto other = loader(8, loaded);
    auto learner = line_learner({.epochs = 1, .seed = 1});
    learner.checkpoints(directory, {.exact = exact}).add(EarlyStopping{.split = "train"});
    change(learner);
    return sentence_of([&] { return learner.fit(other); });
  };
  const std::string another =
      text("ConfigError: ", (directory / "step-2.kiln").string(), " belongs to another training: ");
  const std::string advice =
      ", so that it would not go on to the same bits; CheckpointRules::exact = false lets it go on "
      "otherwise";
  const auto nothing = [](LineLearner&) {};
  EXPECT_EQ(resumed(nothing), "");
  EXPECT_EQ(resumed([](LineLearner& learner) { learner.rate(0.5); }),
            another + "'rates' is 0.001 there and 0.5 here" + advice);
  EXPECT_EQ(resumed([](LineLearner& learner) { learner.schedule(CosineConfig{.peak = 0.5, .steps = 9}); }),
            another + "'rates' is 0.001 there and an object here" + advice);
  EXPECT_EQ(resumed(nothing, {.batch_size = 2}), another + "'data.batch_size' is 4 there and 2 here" + advice);
  EXPECT_EQ(resumed(nothing, {.batch_size = 4, .shuffle = true}),
            another + "'data.shuffle' is false there and true here" + advice);
  EXPECT_EQ(resumed(nothing, {.batch_size = 4, .sampler = in_random_order()}),
            another + "'data.shuffle' is not known here, 'data.order' is not known there" + advice);
  EXPECT_EQ(resumed([](LineLearner& learner) { learner.rate(0.5); }, {.batch_size = 4}, false), "");

  // One that early stopping ended does not go on where it is resumed.
  const EarlyStopping soon{.split = "train", .when = [](double) { return true; }};
  EXPECT_EQ(run({.epochs = 9, .seed = 1}, true, soon), 4);
  EXPECT_EQ(run({.epochs = 9, .seed = 1}, true, soon), 4);
}

}  // namespace
}  // namespace kiln
