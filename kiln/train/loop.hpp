// The part of a Learner's loop that does not depend on the types of model, optimizer and data; it is compiled once.
#pragma once
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/optim/gradients.hpp"
#include "kiln/optim/schedule/decay.hpp"
#include "kiln/train/callbacks.hpp"
#include "kiln/train/checkpoints.hpp"
#include "kiln/train/facts.hpp"
#include "kiln/train/figure/histograms.hpp"
#include "kiln/train/ranks/team.hpp"
#include "kiln/train/steps.hpp"

namespace kiln {

/// How often a schedule advances.
enum class Every { Step, Epoch };

/// A metric of an evaluation: "loss" of "valid".
struct MetricName {
  std::string metric = "loss", split = "valid";
};

namespace training {

class Loop {
 public:
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  const Position& position() const { return run_.at; }
  Interrupter interrupter() { return run_.control(); }

  /// Adds a callback that takes no model; see events.hpp. With several ranks only the first one has it; elsewhere the
  /// result is null. Throws what its check() throws, if it has one.
  template <class Callback>
  std::shared_ptr<Callback> add(Callback callback) {
    if (!team_.leads()) {
      if constexpr (requires { callback.check(); }) callback.check();
      return nullptr;
    }
    return callbacks_.add(run_, checkpoints_.objects(), std::move(callback));
  }

 protected:
  using Rates = std::vector<double>;

  Loop(const LearnerConfig& config, bool by_hand);
  ~Loop() = default;

  /// Throws ArgumentError if ranks would share the state of an optimizer that has no parts.
  void train_with(Ranks ranks, Sharding sharding, bool has_parts);
  static void require_rate(double rate);
  void set_rate(double rate);
  void set_rates(std::function<Rates(const Position&)> rates) {
    rates_ = std::move(rates);
    has_default_rate_ = false;
  }
  void set_plateau(const ReduceOnPlateauConfig& config, MetricName name);
  void keep_checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume,
                        Json configuration);
  void keep_histograms(const HistogramConfig& config);
  /// After each evaluation, and at the ends of epochs without one. All ranks call `draw` together; only for
  /// the first, which leads, the result has a picture.
  using DrawPicture = std::function<std::optional<PngPicture>(bool leads)>;
  void keep_pictures(std::string name, DrawPicture draw);
  /// Makes this a trial of `steps` steps of another loop, whose rates and metrics it takes.
  void try_out(const Loop& other);
  static LearnerConfig trial_config(LearnerConfig config, std::int64_t steps);
  /// Sets a fact that a resumed training run compares; it replaces an earlier one of this name.
  void set_fact(std::string_view name, Json fact);
  RunEnd fit(const Batches& train, const Batches* valid);

  TrainingRun run_;
  Team team_;
  OptionalState optional_state_;
  MetricList train_metrics_, valid_metrics_;
  std::unique_ptr<Shards> shards_;  // if ranks share the optimizer's state, from the first fit() on

 private:
  // Functions that depend on the types.
  virtual nn::ModuleRef model_ref() = 0;
  virtual std::string optimizer_type() const = 0;
  virtual Json optimizer_facts() const = 0;
  virtual void record_model(RecordedObjects& objects) = 0;
  virtual void record_optimizer(RecordedObjects& objects) = 0;
  /// Null for an optimizer whose state has no parts.
  virtual OptimizerState* optimizer_state() = 0;
  /// Calls the step with the current model. A step that is written by hand updates the model.
  virtual Outcome call_step(void* batch, bool owned, const StepContext& context) = 0;
  virtual void update(const Rates& rates, const GradientsParams& grads) = 0;
  /// save_model() keeps the model's state; restore_model() restores it, if it was kept; drop_saved_model() drops it, so that an
  /// update may overwrite it.
  virtual void save_model() = 0;
  virtual void restore_model() = 0;
  virtual void drop_saved_model() = 0;
  /// States of model and optimizer before steps whose losses are awaited, oldest first. keep_state() adds the saved model with
  /// the current optimizer, swap_state() exchanges the oldest state with the current one. False: they have no copies.
  virtual bool can_keep_states() const = 0;
  virtual void keep_state() = 0;
  virtual void swap_state() = 0;
  virtual void drop_oldest_state() = 0;
  virtual void drop_states() = 0;
  /// Updates the metrics of validation.
  virtual void measure(const Batches& valid) = 0;

  RunEnd train_on(const Batches& train, const Batches* valid);
  void share();

  /// The outcome of a batch on this rank, and its loss and items on this rank and on all ranks.
  struct BatchResult {
    Outcome outcome{};  // without an output where this rank has no batch
    Team::Batch own{}, total{};
    bool accepted = true;
    std::optional<AwaitedOutcome> awaited{};  // then nothing of it is known yet but its items
  };
  bool learn(void* batch, bool owned);

  /// A step that was taken as if its loss were finite and nobody would stop the training at it.
  struct StepAhead {
    AwaitedOutcome outcome;
    Position before;
    Step step;
  };
  /// How many steps the loop may be ahead of their losses: so many that their states take little memory; none where a step depends
  /// on more than model and optimizer.
  std::size_t most_ahead(const Batches& train);
  /// Reports the oldest steps whose losses are there, and waits for them while there are more than `most`. Where a loss is not
  /// finite, a callback stops the training or something throws, it is as if the later steps had not been taken. Returns whether
  /// they were kept.
  bool settle(std::size_t most = 0);
  bool settle_oldest();
  void report_ahead(const StepAhead& oldest);
  /// After an error of a batch: settles the steps before it, whose own errors are thrown in its stead. Returns whether a callback
  /// stopped the training at one of them, so that there would have been no such batch.
  bool stops_before_error();
  /// The current state is the one to stay with.
  void forget_ahead();
  BatchResult learn_by_hand(void* batch, bool owned, const StepContext& context);
  BatchResult learn_by_gradients(void* batch, bool owned, const StepContext& context);
  /// Adds the outcomes of all ranks up, and decides whether the batch is learned from.
  BatchResult combine_outcomes(Outcome outcome);
  /// Ends a step. `grads` are those of its last batch, or those of the whole step on all ranks if they are `combined`.
  void update_with(GradientsParams grads, bool combined, const Rates& rates);
  /// Returns the gradients of this step's batches so far, and drops them.
  GradientsParams earlier_gradients();
  /// Are the gradients of each batch combined, and only parts of them kept until the step?
  bool combines_each() const { return run_.config().accumulate > 1 && team_.sharding() == Sharding::Gradients; }
  /// Starts to combine the gradients of a step over all ranks. `loss` gives the loss of its last batch; `batch` is null
  /// on a rank that has none.
  Buckets start_combining(const void* batch, FunctionRef<Value()> loss, const Team::BatchShare& part);
  void step_ended(const Batches& train, const Batches* valid);
  /// Reports what is allowed, but seldom meant: a rate that nobody gave, a model in Mode::Valid, no data of validation
  /// (streams are not counted).
  void report_doubts(const Batches* valid);
  /// Returns what a loss that is not finite comes from, as far as the weights tell.
  std::string cause_of_loss();
  /// Reports weights that are not finite, once a step.
  void check_weights();
  void save(const Batches& train);
  void draw_pictures();

  bool by_hand_;
  bool has_default_rate_ = true;
  Callbacks callbacks_;
  std::function<Rates(const Position&)> rates_;
  RunFacts facts_;
  std::optional<HistogramConfig> histograms_;
  std::vector<std::pair<std::string, DrawPicture>> pictures_;
  GradientsAccumulator gradients_;
  std::int64_t gathered_items_ = 0, gathered_batches_ = 0;  // of the current step, on all ranks
  std::int64_t checked_step_ = -1;                          // the step whose weights were checked last
  std::size_t most_ahead_ = 0;
  bool runs_ahead_ = false;  // since a first loss was not there at once
  std::deque<StepAhead> ahead_;
  Checkpoints checkpoints_;  // declared last, because its thread reads the others
};

}  // namespace training
}  // namespace kiln
