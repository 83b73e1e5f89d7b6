// A training loop: the user writes the model and one step, the loop does the rest.
//
//   const auto step = [&](const Model& m, ImageBatch batch) -> ClassificationOutput {
//     const auto [images, targets] = to_tensors(std::move(batch), device);
//     const Tensor<2> scores = m.forward(images);
//     return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
//   };
//   Learner learner(train(config.init(device)), AdamConfig{}.init(model), step, {.epochs = 10});
//   learner.rate(1e-3).metric(metric::Accuracy{});
//   learner.add(EarlyStopping{.metric = "accuracy", .rising = true, .patience = 3}).add(ProgressLines{});
//   learner.fit(train_loader, valid_loader);
//   save(learner.model(), "model.safetensors");
//
// The step is called with the model as it is trained, and for validation with one in Mode::Valid whose parameters are no
// leaves, where nothing is recorded (still.hpp): it cannot forget to say so. A step that does more than the gradients of
// one loss is written by hand, and may have several optimizers, which are the fields of a struct:
//
//   [](Gan& m, Optimizers& optimizers, const StepContext& context, Batch batch) -> GanOutput { ... }
//
// With ranks as its last argument (kiln/collective) a Learner trains together with those of the other ranks, each on data
// of its own (sharded(), kiln/data/sampler.hpp), as one would on all of them: the gradient of a step is that of the ranks'
// batches together, metrics are of all data, a wish to stop is agreed on. All ranks make the same Learner and call the same
// of it; rank 0's weights and checkpoints count, and it alone has callbacks and writes.
#pragma once
#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kiln/ops/scope/autocast.hpp"
#include "kiln/optim/gradients.hpp"
#include "kiln/train/checkpoints.hpp"
#include "kiln/train/steps.hpp"
#include "kiln/train/still.hpp"
#include "kiln/train/team.hpp"

namespace kiln {

/// How often a schedule moves on.
enum class Every { Step, Epoch };

/// A metric of an evaluation: "loss" of "valid".
struct MetricName {
  std::string metric = "loss", split = "valid";
};

template <Module M, class O, class F>
class Learner {
  using Signature = training::SignatureOf<F>;
  using BatchArg = typename Signature::BatchArg;
  static constexpr bool kByHand = Signature::kByHand;

 public:
  using Batch = typename Signature::Batch;
  using Output = typename Signature::Output;

  /// Throws ArgumentError for a configuration without meaning.
  Learner(M model, O optimizer, F step, const LearnerConfig& config)
      : run_(config), model_(std::move(model)), optimizer_(std::move(optimizer)), step_(std::move(step)) {
    if (config.scaler || config.autocast == DType::F16)
      extras_.scaler = config.scaler.value_or(GradientScalerConfig{}).init();
    if constexpr (kByHand)
      require<ArgumentError>(
          config.accumulate == 1 && !config.autocast && !extras_.scaler && config.not_finite != NotFinite::Skip,
          "training: a step that is written by hand accumulates, casts, scales and skips by itself");
    rate(1e-3);
  }
  /// One of several ranks. fit() throws ConfigError where they make different ones, and IoError where a rank has left.
  Learner(M model, O optimizer, F step, const LearnerConfig& config, Ranks ranks)
      : Learner(std::move(model), std::move(optimizer), std::move(step), config) {
    team_ = training::Team(std::move(ranks));
    share_ = [this] {
      RecordedObjects all;
      all.add("model", model_);
      all.add("optimizer", optimizer_);
      checkpoints_.add_state(all, run_, extras_);
      team_.share(all);
    };
  }
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  Learner& rate(double rate) {
    rates_ = [rate](const training::Position&) { return std::vector<double>{rate}; };
    return *this;
  }
  /// A config of kiln/optim/schedule.hpp, whose rate, or rates, are those of the step or the epoch, from 0.
  template <class Schedule>
  Learner& schedule(const Schedule& schedule, Every every = Every::Step) {
    rates_ = [schedule, every](const training::Position& at) {
      const auto now = schedule.at(every == Every::Step ? at.step : at.epoch);
      if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(now)>>) return std::vector<double>{now};
      else return std::vector<double>(now.begin(), now.end());
    };
    return *this;
  }
  /// A rate that falls where a metric no longer gets better.
  Learner& plateau(const ReduceOnPlateauConfig& config, MetricName name = {}) {
    extras_.plateau = config.init();
    rates_ = [this](const training::Position&) { return std::vector<double>{extras_.plateau->rate()}; };
    run_.listen([this, name = std::move(name)](const training::Event& event) {
      const auto* const e = std::get_if<training::Evaluation>(&event);
      if (!e || !e->complete || e->split != name.split) return;
      if (const Reading* const reading = e->find(name.metric)) extras_.plateau->observe(reading->value);
    });
    return *this;
  }

  /// Of the data that are learned from and of those for validation.
  template <Metric T>
  Learner& metric(const T& metric, const std::string& name = metric::name_of<T>()) {
    return train_metric(metric, name).valid_metric(metric, name);
  }
  template <Metric T>
  Learner& train_metric(T metric, const std::string& name = metric::name_of<T>()) {
    train_metrics_.add(std::move(metric), name, [](T& m, const Output& output) { metric::feed(m, output); });
    return *this;
  }
  template <Metric T>
  Learner& valid_metric(T metric, const std::string& name = metric::name_of<T>()) {
    valid_metrics_.add(std::move(metric), name, [](T& m, const Output& output) { metric::feed(m, output); });
    return *this;
  }
  /// feed(metric, output) calls the metric's update with what it wants of an output.
  template <Metric T, class Feed>
  requires std::invocable<Feed&, T&, const Output&>
  Learner& metric(const T& metric, const std::string& name, Feed feed) {
    train_metrics_.add(metric, name, feed);
    valid_metrics_.add(metric, name, std::move(feed));
    return *this;
  }

  /// An average of the weights over the steps, which validation measures: EmaConfig{} or SwaConfig{}.
  template <class Config>
  Learner& average(const Config& config) {
    extras_.average = config.init(model_);
    return *this;
  }
  /// What validation does with a batch, where that is not what training does: (const Model&, Batch) -> Output.
  template <class V>
  Learner& valid_step(V step) {
    static_assert(std::is_same_v<typename training::SignatureOf<V>::Output, Output>,
                  "the step of validation returns what the step of training does");
    valid_step_ = [step = std::move(step)](const M& model, Batch& batch, bool owned) mutable {
      return training::call_step<typename training::SignatureOf<V>::BatchArg>(step, batch, owned, model);
    };
    return *this;
  }
  /// A callback: see events.hpp. Of several ranks the first alone has it.
  template <class Callback>
  Learner& add(Callback callback) {
    static_assert(training::kListens<Callback, M>,
                  "a callback has an on(event) for some event of kiln/train/events.hpp");
    if (!team_.leads()) return *this;
    auto held = std::make_shared<Callback>(std::move(callback));
    if constexpr (requires { held->state; }) checkpoints_.objects().add(text("callbacks.", callbacks_), held->state);
    ++callbacks_;
    run_.listen([this, held](const training::Event& event) { training::tell(*held, event, model_, run_.control()); });
    return *this;
  }

  /// Has the training saved to `directory` by these rules, and when it ends. fit() goes on where the newest checkpoint
  /// there was, to the same bits as a training that was never interrupted, or, unless `resume`, begins anew. Where the
  /// directory belongs to another configuration (`configuration` is the user's own), fit() throws ConfigError.
  Learner& checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules = {}, bool resume = true,
                       Json configuration = {}) {
    if (!team_.leads()) return *this;
    checkpoints_.keep(directory, rules, resume, run_.configuration(std::move(configuration)));
    checkpoints_.objects().add("model", model_);
    checkpoints_.objects().add("optimizer", optimizer_);
    return *this;
  }

  /// Trains until a limit is reached or somebody asks to stop; may be called again. What a step throws comes out, with
  /// the model as the last whole step left it.
  template <class Train, class Valid>
  training::Ending fit(Train&& train, Valid&& valid) {
    const auto batches = training::batches_of<Batch>(valid);
    return loop(training::batches_of<Batch>(train), &batches);
  }
  template <class Train>
  training::Ending fit(Train&& train) {
    return loop(training::batches_of<Batch>(train), nullptr);
  }

  const M& model() const { return model_; }
  /// The model as it is to be used: the average, if there is one, in Mode::Valid.
  M result() const { return still(averaged()); }
  const O& optimizer() const { return optimizer_; }
  const training::Position& position() const { return run_.at; }
  Interrupter interrupter() { return run_.control(); }

 private:
  M averaged() const {
    if (extras_.average) return extras_.average->apply(model_);
    if constexpr (requires { optimizer_.averaged(model_); }) return optimizer_.averaged(model_);
    else return model_;
  }

  training::Ending loop(const training::Batches<Batch>& train, const training::Batches<Batch>* valid) {
    try {
      return train_on(train, valid);
    } catch (const std::exception& error) {
      team_.leave(error.what());
      throw;
    } catch (...) {
      team_.leave("its training ended by something that is no error");
      throw;
    }
  }

  training::Ending train_on(const training::Batches<Batch>& train, const training::Batches<Batch>* valid) {
    const SignalScope signals;
    require<ArgumentError>(
        !train.place || !team_.several(),
        "training: ranks count their batches beforehand, which a stream cannot; give each its shard of "
        "an indexed data set");
    team_.require_same(model_, reflect::type_name<O>(), run_.config(),
                       {&train_metrics_, valid ? &valid_metrics_ : nullptr});
    if (train.place && !extras_.stream) extras_.stream.emplace();
    checkpoints_.open(run_, extras_, train_metrics_);
    if (share_) share_();
    if (train.restore) train.restore(*extras_.stream);
    checkpoints_.before_each([&] {
      if (train.place) extras_.stream = train.place();
    });
    gradients_ = {};
    gathered_items_ = gathered_batches_ = 0;
    run_.begin(team_.most(train.size(run_.at.epoch)), num_params(model_));
    team_.agree(run_, false);
    while (!run_.done()) {
      const std::int64_t epoch = run_.at.epoch, own = train.size(epoch);
      run_.expect(team_.most(own));
      const auto learn_from = [&](Batch* batch, bool owned) {
        if (learn(batch, owned)) step_ended(valid);
        return run_.at.epoch == epoch && !run_.done();
      };
      train.each(epoch, run_.at.batch, [&](Batch& batch, bool owned) { return learn_from(&batch, owned); });
      // A rank that has fewer batches than others takes part in their steps.
      while (run_.at.epoch == epoch && run_.at.batch >= own && !run_.done() && learn_from(nullptr, false)) {}
      run_.require_past(epoch);
    }
    if (team_.agree(run_, checkpoints_.lacks(run_))) save();
    checkpoints_.finish();
    if (share_) share_();  // what each has learned of its data alone is the same everywhere
    const training::Ending ending{run_.at, run_.reason()};
    run_.tell(ending);
    return ending;
  }

  /// One batch, or none where other ranks have one; whether it was the last of its step.
  bool learn(Batch* batch, bool owned) {
    Key key = run_.batch_key();
    if (team_.several()) key = key.split(static_cast<std::uint64_t>(team_.rank()));
    for (const Device& device : devices_of(model_)) device.seed(key.bits);
    const std::vector<double> rates = rates_(run_.at);
    std::optional<Output> output;
    training::Team::Batch own, total;
    const auto add_up = [&] {
      if (output) own = {static_cast<double>(training::loss_of(*output).item()), items_of(*output)};
      total = team_.total(own.loss, own.items);
      return run_.accepts(total.loss);
    };
    bool accepted = true;
    if constexpr (kByHand) {
      require<DataError>(batch, "training: this rank has ", run_.at.batch,
                         " batches and others have more: a step by hand needs as many on all ranks");
      const StepContext context{rates, run_.at, team_};
      output.emplace(training::call_step<BatchArg>(step_, *batch, owned, model_, optimizer_, context));
      accepted = add_up();
    } else {
      const LearnerConfig& config = run_.config();
      std::optional<M> before;  // as batch norm learns from a batch that is then left out
      if (config.not_finite == NotFinite::Skip) before = model_;
      GradientsParams grads;
      training::Team::Part part;
      if (batch)
        grads = value_and_grad(model_, [&](const M& model) {
                  std::optional<Autocast> half;
                  if (config.autocast) half.emplace(*config.autocast);
                  output.emplace(training::call_step<BatchArg>(step_, *batch, owned, model));
                  const Tensor<0> plain = training::loss_of(*output);
                  part = team_.part(items_of(*output));
                  const Tensor<0> loss = part.weight == 1 ? plain : plain * part.weight;
                  return extras_.scaler ? extras_.scaler->scale(loss) : loss;
                }).grads;
      else part = team_.part(0);
      accepted = add_up();
      const bool gathers = config.accumulate > 1 || team_.several();
      if (!accepted) {
        grads = {};
        model_ = *std::move(before);
      } else if (gathers) {
        if (output) gradients_.add(scaled(grads, part.mean_items));
        gathered_items_ += total.items;
        ++gathered_batches_;
      }
      if (run_.completes_step()) update(rates, gathers ? gathered() : std::move(grads));
    }
    if (accepted && output) {
      const NoGrad pause;
      train_metrics_.update(*output, own.loss);
    }
    if (!run_.batch_done(total.loss, accepted ? total.items : 0)) return false;
    run_.step_done(rates);
    return true;
  }

  // Gradients of the mean over a step are those of its batches, each as often as it has items.
  GradientsParams gathered() {
    const std::int64_t items = std::exchange(gathered_items_, 0);
    if (std::exchange(gathered_batches_, 0) == 0) return {};  // all were left out
    GradientsParams own = gradients_.count() > 0 ? gradients_.sum() : GradientsParams{};
    return scaled(team_.sum(own, model_), 1.0 / static_cast<double>(std::max<std::int64_t>(items, 1)));
  }

  void update(const std::vector<double>& rates, GradientsParams grads) {
    if (grads.by_path.empty()) return;
    if (extras_.scaler) grads = extras_.scaler->unscale(std::move(grads));
    if (rates.size() == 1) model_ = optimizer_.step(rates[0], std::move(model_), grads);
    else model_ = optimizer_.step(rates, std::move(model_), grads);
    if (extras_.average) extras_.average->update(model_);
  }

  void step_ended(const training::Batches<Batch>* valid) {
    const bool ended = run_.epoch_ended();
    if (run_.metrics_due()) run_.tell(training::Evaluation{run_.at, "train", team_.readings(train_metrics_), ended});
    if (valid && run_.validation_due()) validate(*valid);
    if (ended) {
      team_.require_same_weights(model_);
      train_metrics_.clear();
      run_.next_epoch();
    }
    if (team_.agree(run_, checkpoints_.due(run_, ended))) save();
  }

  void save() {
    team_.gather(train_metrics_);
    checkpoints_.save(run_);
  }

  void validate(const training::Batches<Batch>& valid) {
    if constexpr (kByHand)
      require<ArgumentError>(static_cast<bool>(valid_step_),
                             "training: a step that is written by hand does not say how "
                             "to validate: give valid_step()");
    M measured = result();
    team_.share_buffers(measured);
    training::measure<M, Output, Batch>(
        measured,
        [this](const M& model, Batch& batch, bool owned) -> Output {
          if constexpr (!kByHand)
            if (!valid_step_) return training::call_step<BatchArg>(step_, batch, owned, model);
          return valid_step_(model, batch, owned);
        },
        valid, valid_metrics_);
    run_.tell(training::Evaluation{run_.at, "valid", team_.readings(valid_metrics_)});
  }

  TrainingRun run_;
  training::Team team_;
  std::function<void()> share_;  // of several ranks: all that is trained becomes rank 0's
  M model_;
  O optimizer_;
  F step_;
  std::function<Output(const M&, Batch&, bool owned)> valid_step_;
  std::function<std::vector<double>(const training::Position&)> rates_;
  training::Extras extras_;
  GradientsAccumulator gradients_;
  std::int64_t gathered_items_ = 0, gathered_batches_ = 0;  // of the step under way, on all ranks
  MetricSet<Output> train_metrics_, valid_metrics_;
  int callbacks_ = 0;
  training::Checkpoints checkpoints_;  // last, as its thread reads the rest
};

}  // namespace kiln
