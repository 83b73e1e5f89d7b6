// The checkpoints of a Learner; compiled once, for all types of models, optimizers and steps.
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

/// The optional state of a training run besides its model and optimizer.
struct OptionalState {
  std::optional<ReduceOnPlateau> plateau{};
  std::optional<GradientScaler> scaler{};
  std::optional<WeightAverage> average{};
  std::optional<StreamPlace> stream{};  // if the training data are a stream, of rank 0
  std::vector<std::uint8_t> places{};   // positions of several ranks' streams, encoded by Team
};

class Checkpoints {
 public:
  Checkpoints() = default;
  Checkpoints(const Checkpoints&) = delete;  // it listens to the run
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// The directory, the rules, and whether to resume from it. `configuration` is the user's own.
  void keep(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume, Json configuration);
  RecordedObjects& objects() { return objects_; }
  /// Adds the state of a training run besides its model and optimizer, and each rank's place in the data.
  static void add_state(RecordedObjects& objects, TrainingRun& run, OptionalState& optional_state);

  /// Called once, before the first batch: resumes from the newest checkpoint, or begins a new run.
  void open(TrainingRun& run, OptionalState& optional_state, MetricList& metrics, const RunFacts& facts);
  /// Is one due after this step, or was it requested?
  bool due(TrainingRun& run, bool epoch_ended);
  /// Is the final state not saved yet?
  bool lacks(const TrainingRun& run) const { return checkpointer_ && saved_at_ != run.at.step; }
  void save(TrainingRun& run);
  /// Waits until the last one is written.
  void finish();

 private:
  RecordedObjects objects_;
  std::unique_ptr<Checkpointer> checkpointer_;  // null if no checkpoints are kept; its thread reads the objects
  bool resume_ = true, opened_ = false;
  std::int64_t saved_at_ = -1;  // step
};

}  // namespace kiln::training
