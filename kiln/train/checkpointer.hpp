// Checkpoints of a training: when they are due, written beside it, kept by rules, found again. Alone, in a loop by hand:
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
// A checkpoint is one file, a record (kiln/store/record/anything.hpp) that is put in place in one step, so that whenever a
// training is killed the newest file is whole: load(model, "run/checkpoint/step-500.kiln", {.allow_unexpected = true,
// .under = "model"}) takes the model alone. index.json beside it says which there are, and what they came to; it is for others to read: what
// lies in the directory, whole, counts without it, and a run removes what it wrote itself alone.
#pragma once
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

/// When checkpoints are written, and which of them stay; those that no rule keeps go. Can be read from JSON.
struct CheckpointRules {
  std::optional<std::int64_t> every_steps{};
  std::optional<std::int64_t> every_epochs = 1;
  std::optional<double> every_minutes{};

  std::int64_t last = 2;  // the last ones
  std::int64_t best =
      0;  // those of the best evaluations of `metric`: each that is among them when it comes has one written
  std::string split = "valid", metric = "loss";
  bool rising = false;                  // which is to rise, as an accuracy
  std::optional<double> every_hours{};  // the first of each so many hours of training
  bool exact = true;                    // one of other facts (see know()) is not gone on from

  /// Throws ArgumentError for what makes no sense.
  void check() const;
};

class Checkpointer {
 public:
  /// Makes the directory; what killed processes left half-written in it goes. It goes on with the run whose checkpoints are there:
  /// of several that which began last. Throws IoError, or ArgumentError for rules
  /// without meaning. `configuration` goes with each checkpoint, and restore() compares it.
  Checkpointer(std::filesystem::path directory, CheckpointRules rules, Json configuration = {});
  /// Waits for a file that is being written.
  ~Checkpointer();

  /// The newest whole checkpoint of the directory.
  std::optional<std::string> latest() const;
  /// Sentences about files of the directory that are damaged.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Throws DataError or LoadError where the file is none of this training, ConfigError where it belongs to another
  /// configuration, or has other facts: the first value that differs. Nothing has changed then.
  void restore(RecordedObjects& objects, const std::string& file) const;
  /// Begins a run of its own: those of the run before go when the first new one is written.
  void begin_anew();

  /// What decides beside the configuration what becomes of the training, by name: its optimizer, rates, data. It goes with each
  /// checkpoint from now on, and restore() compares what is known here and there, null being unknown.
  void know(Json::Object facts) { facts_ = std::move(facts); }

  /// Throws ArgumentError where best checkpoints go by a metric that a Learner will not measure.
  void check(const training::Begin& begin) const;
  /// What best checkpoints go by. Throws ArgumentError where the evaluation has no such metric.
  void observe(const training::Evaluation& evaluation);
  /// By the clock, by steps and epochs, or as the evaluation at this step is among the best.
  bool due(const training::Position& at, bool epoch_ended) const;
  /// Takes a snapshot, and writes it in another thread; waits first for the one before. Returns the file. What went wrong
  /// with the one before (a full disk) is handed to `trouble`, or else thrown by finish(), unless a later one succeeds.
  std::string save(const RecordedObjects& objects, const training::Position& at);
  std::optional<std::string> trouble();
  /// Waits for the file that is being written. Throws IoError where it could not be.
  void finish();

  /// Those that there are, from the oldest; waits for one that is being written.
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
  std::vector<double> best_;  // values of the best checkpoints taken, the best first, also of the one being written
  std::vector<KeptCheckpoint> kept_;  // while a thread writes, its own
  training::RunName run_;
  std::vector<training::RunName> replaces_;
  std::vector<std::pair<std::string, training::RunName>> written_;  // files, and by which run: what may be removed
  std::vector<std::string> notes_;
  std::optional<training::Position> saved_;
  std::optional<std::pair<std::int64_t, double>> measured_;  // step and value of the last evaluation
  std::future<void> writing_;
  std::string failed_;
};

/// The newest whole checkpoint of a directory. Throws IoError where there is none.
std::string latest_checkpoint(const std::filesystem::path& directory);
/// The user's own configuration that goes with a checkpoint of a Learner: an empty value where there is none. Throws
/// IoError, DataError.
Json checkpoint_configuration(const std::string& file);

}  // namespace kiln
