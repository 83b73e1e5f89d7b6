// What a Learner does about checkpoints; compiled once, whatever its model, optimizer and step are.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/data/stream/place.hpp"
#include "kiln/nn/module/average.hpp"
#include "kiln/optim/scaler.hpp"
#include "kiln/optim/schedule/plateau.hpp"
#include "kiln/train/checkpointer.hpp"
#include "kiln/train/facts.hpp"
#include "kiln/train/metric_set.hpp"
#include "kiln/train/run.hpp"

namespace kiln::training {

/// What a training has, or not, beside its model and optimizer.
struct Extras {
  std::optional<ReduceOnPlateau> plateau{};
  std::optional<GradientScaler> scaler{};
  std::optional<WeightAverage> average{};
  std::optional<StreamPlace> stream{};  // of training data that are a stream, of rank 0
  std::vector<std::uint8_t> places{};   // of several ranks' streams, as Team has them
};

class Checkpoints {
 public:
  Checkpoints() = default;
  Checkpoints(const Checkpoints&) = delete;  // it listens to the run
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// Where they lie, by what rules; whether to go on from what is there. `configuration` is the user's own.
  void keep(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume, Json configuration);
  RecordedObjects& objects() { return objects_; }
  /// What is kept of a training beside its model and optimizer, and what each rank has seen of the data.
  static void add_state(RecordedObjects& objects, TrainingRun& run, Extras& extras);

  /// Once, before the first batch: goes on where the newest checkpoint was, or forgets what there is.
  void open(TrainingRun& run, Extras& extras, MetricList& metrics, const Facts& facts);
  /// Is one due after this step, or was it asked for?
  bool due(TrainingRun& run, bool epoch_ended);
  /// The end of a training is kept, too.
  bool lacks(const TrainingRun& run) const { return checkpointer_ && saved_at_ != run.at.step; }
  void save(TrainingRun& run);
  /// Waits until the last one is written.
  void finish();

 private:
  RecordedObjects objects_;
  std::unique_ptr<Checkpointer> checkpointer_;  // null where none are kept; its thread reads the rest
  bool resume_ = true, opened_ = false;
  std::int64_t saved_at_ = -1;  // step
};

}  // namespace kiln::training
