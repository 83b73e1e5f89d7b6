// Checkpoints of a training run: when they are due, writing them in a thread, keeping them by rules, finding them
// again. On its own, in a custom loop:
//
//   RecordedObjects all;
//   all.add("model", model), all.add("optimizer", optimizer), all.add("at", at);
//   Checkpointer checkpoints("run/checkpoint", {.every_steps = 500, .last = 3});
//   if (const auto file = checkpoints.latest()) checkpoints.restore(all, *file);
//   for (...) {
//     ...
//     if (checkpoints.due(at, false)) checkpoints.save(all, at);
//   }
//   checkpoints.finish();
//
// A checkpoint is one file, a record (kiln/store/record/object_record.hpp) that is put in place atomically, so that the
// newest file is complete whenever a training run is killed: load(model, "run/checkpoint/step-500.kiln",
// {.allow_unexpected = true, .under = "model"}) reads the model alone. index.json next to it lists the checkpoints and
// their values for other programs; Kiln itself uses the complete files in the directory, and a run only removes files
// that it wrote.
#pragma once
#include <exception>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/train/checkpoint_folder.hpp"
#include "kiln/train/events.hpp"
#include "kiln/train/recorded.hpp"

namespace kiln {

/// When checkpoints are written, and which of them are kept; the others are removed. Can be read from JSON.
struct CheckpointRules {
  std::optional<std::int64_t> every_steps{};
  std::optional<std::int64_t> every_epochs = 1;
  std::optional<double> every_minutes{};

  std::int64_t last = 2;  // keeps the latest ones
  std::int64_t best =
      0;  // keeps those of the best evaluations of `metric`; one is written whenever an evaluation is among them
  std::string split = "valid", metric = "loss";
  bool rising = false;                  // should the metric rise, like an accuracy?
  std::optional<double> every_hours{};  // keeps the first of each such period of training
  bool exact = true;                    // refuse to resume from a checkpoint with other facts (see set_fact())?

  /// Throws ArgumentError for invalid rules.
  void check() const;
};

class Checkpointer {
 public:
  /// Creates the directory, and removes unfinished files of killed processes. Continues the run whose checkpoints are
  /// there; of several, the one that began last. Throws IoError, or ArgumentError for invalid rules. `configuration` is
  /// stored in each checkpoint, and restore() compares it.
  Checkpointer(std::filesystem::path directory, CheckpointRules rules, Json configuration = {});
  /// Waits for a file that is being written.
  ~Checkpointer();

  /// The newest complete checkpoint of the directory.
  std::optional<std::string> latest() const;
  /// Messages about damaged files of the directory.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Throws DataError or LoadError if the file is not a checkpoint of this training run, ConfigError if its
  /// configuration or facts differ, with the first value that differs. Nothing has changed then.
  void restore(RecordedObjects& objects, const std::string& file) const;
  /// Begins a new run: the files of the previous one are removed when the first new one is written.
  void begin_new_run();

  /// What determines the course of training besides the configuration, by name: optimizer, rates, data. It is stored in
  /// each checkpoint from now on, and restore() compares what is known on both sides; null means unknown.
  void set_fact(Json::Object facts) { facts_ = std::move(facts); }

  /// Throws ArgumentError if best checkpoints use a metric that a Learner will not measure.
  void check(const training::Begin& begin) const;
  /// Takes the metric of best checkpoints. Throws ArgumentError if the evaluation does not have it.
  void observe(const training::Evaluation& evaluation);
  /// Is one due by the clock, by steps or epochs, or because the evaluation at this step is among the best?
  bool due(const training::Position& at, bool epoch_ended) const;
  /// Takes a snapshot, and writes it in another thread, after the previous one is written. Returns the file's name. An
  /// error of the previous one (a full disk) is returned by take_error(), or else thrown by finish(), unless a later
  /// one succeeds.
  std::string save(const RecordedObjects& objects, const training::Position& at);
  std::optional<std::string> take_error();
  /// Waits for the file that is being written. Throws IoError if that failed.
  void finish();

  /// The checkpoints, from the oldest; waits for one that is being written.
  const std::vector<KeptCheckpoint>& kept();

 private:
  void wait();
  void rank_kept();
  bool is_among_best(double value) const;
  void write(const TensorSource& snapshot, const KeptCheckpoint& checkpoint);
  void keep_by_rules();
  void remove_unkept();

  std::filesystem::path directory_;
  CheckpointRules rules_;
  Json configuration_;
  Json::Object facts_;
  std::vector<double> best_;  // values of the best checkpoints taken, best first, including the one being written
  std::vector<KeptCheckpoint> kept_;  // while a thread writes, only it may use them
  training::RunName run_;
  std::vector<training::RunName> replaces_;
  // Files that may be removed, and the runs that wrote them.
  std::vector<std::pair<std::string, training::RunName>> written_;
  std::vector<std::string> notes_;
  std::optional<training::Position> saved_;
  std::optional<std::pair<std::int64_t, double>> measured_;  // step and value of the last evaluation
  std::future<void> writing_;
  std::exception_ptr failed_;  // an Error that the last write ended in, until somebody is told
};

/// The newest complete checkpoint of a directory. Throws IoError if there is none.
std::string latest_checkpoint(const std::filesystem::path& directory);
/// The user's configuration in a checkpoint of a Learner: an empty value if there is none. Throws IoError, DataError.
Json checkpoint_configuration(const std::string& file);

}  // namespace kiln
