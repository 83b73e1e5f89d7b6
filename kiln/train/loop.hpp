// The loop of a Learner but for the types of its model, its optimizer and its data, so that it is compiled once.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/optim/gradients.hpp"
#include "kiln/optim/schedule/decay.hpp"
#include "kiln/train/checkpoints.hpp"
#include "kiln/train/facts.hpp"
#include "kiln/train/steps.hpp"
#include "kiln/train/team.hpp"

namespace kiln {

/// How often a schedule moves on.
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

  /// A callback that takes no model; see events.hpp. Of several ranks the first alone has it; null elsewhere. Throws what its
  /// check() does, if it has one.
  template <class Callback>
  std::shared_ptr<Callback> add(Callback callback) {
    if constexpr (requires { callback.check(); }) callback.check();
    if (!team_.leads()) return nullptr;
    auto held = std::make_shared<Callback>(std::move(callback));
    if constexpr (requires { held->state; }) checkpoints_.objects().add(text("callbacks.", callbacks_++), held->state);
    if constexpr (requires { held->seen; })
      checkpoints_.objects().add_optional(std::string(reflect::type_name<Callback>()), held->seen);
    if constexpr (kListens<Callback>) {
      TrainingRun::Listener listener = [this, held](const Event& event) { tell(*held, event, run_.control()); };
      if constexpr (requires { requires Callback::kIsALog; }) listener = outlived(std::move(listener));
      run_.listen(std::move(listener));
    }
    return held;
  }

 protected:
  using Rates = std::vector<double>;

  Loop(const LearnerConfig& config, bool by_hand);
  ~Loop() = default;

  void train_with(Ranks ranks) { team_ = Team(std::move(ranks)); }
  static void require_rate(double rate);
  void set_rate(double rate);
  void set_rates(std::function<Rates(const Position&)> rates) { rates_ = std::move(rates); }
  void set_plateau(const ReduceOnPlateauConfig& config, MetricName name);
  void keep_checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume,
                        Json configuration);
  /// A fact that a training which goes on compares; a later one of the name takes its place.
  void know(std::string_view name, Json fact);
  Ending fit(const Batches& train, const Batches* valid);

  TrainingRun run_;
  Team team_;
  Extras extras_;
  MetricList train_metrics_, valid_metrics_;

 private:
  /// What a log could not write once the training had begun.
  struct Missed {
    std::string why;
    std::int64_t events = 0;
  };
  /// The same, and a disk that is full is told of, and ends no training.
  TrainingRun::Listener outlived(TrainingRun::Listener log);

  // What the types know.
  virtual nn::ModuleRef model_ref() = 0;
  virtual std::string optimizer_type() const = 0;
  virtual Json optimizer_facts() const = 0;
  /// Adds the model and the optimizer.
  virtual void record(RecordedObjects& objects) = 0;
  /// Calls the step with the model as it is. One that is written by hand updates it.
  virtual Outcome call_step(void* batch, bool owned, const StepContext& context) = 0;
  virtual void update(const Rates& rates, const GradientsParams& grads) = 0;
  /// Keeps the model as it is; brings it back, or lets go of it, so that an update may be written over it.
  virtual void remember() = 0;
  virtual void go_back() = 0;
  virtual void forget() = 0;
  /// Feeds the metrics of validation.
  virtual void measure(const Batches& valid) = 0;

  Ending train_on(const Batches& train, const Batches* valid);
  void share();

  /// What a batch came to on this rank, and its loss and items on all ranks.
  struct BatchResult {
    Outcome outcome{};  // without an output where this rank has no batch
    Team::Batch own{}, total{};
    bool accepted = true;
  };
  bool learn(void* batch, bool owned);
  BatchResult learn_by_hand(void* batch, bool owned, const StepContext& context);
  BatchResult learn_by_gradients(void* batch, bool owned, const StepContext& context);
  /// Asks the other ranks for theirs, and whether the batch is to be learned from.
  BatchResult added_up(Outcome outcome);
  /// Ends a step: `grads` are those of its last batch; or of all of it and of all ranks, where these are `combined`.
  void update_with(GradientsParams grads, bool combined, const Rates& rates);
  /// The gradients of this step's batches so far, which are forgotten.
  GradientsParams earlier_gradients();
  /// The gradients of a step, of whose last batch `loss` is the loss, on their way to all ranks; batch: null where this rank
  /// has none.
  Buckets combined_within(const void* batch, FunctionRef<Value()> loss, const Team::Part& part);
  void step_ended(const Batches& train, const Batches* valid);
  /// Reports weights that are not finite, once a step.
  void check_weights();
  void save(const Batches& train);

  bool by_hand_;
  int callbacks_ = 0;  // that have a state
  std::vector<std::shared_ptr<Missed>> missed_;
  std::function<Rates(const Position&)> rates_;
  Facts facts_;
  GradientsAccumulator gradients_;
  std::int64_t gathered_items_ = 0, gathered_batches_ = 0;  // of the step under way, on all ranks
  std::int64_t checked_step_ = -1;                          // whose weights were looked at
  Checkpoints checkpoints_;                                 // last, as its thread reads the rest
};

}  // namespace training
}  // namespace kiln
