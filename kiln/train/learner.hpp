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
// For training, the step is called with the model; for validation with one in Mode::Valid whose parameters are no
// leaves, so that nothing is recorded (still.hpp) and validation cannot be left in the wrong mode. A step that does
// more than use the gradients of one loss is written by hand, and may have several optimizers, which are the fields of
// a struct:
//
//   [](Gan& m, Optimizers& optimizers, const StepContext& context, Batch batch) -> GanOutput { ... }
//
// With ranks as its last argument (kiln/collective) a Learner trains together with those of the other ranks, each on
// its own data (sharded(), kiln/data/sampler.hpp), as a single one would on all data: the gradient of a step is that of
// the ranks' batches together, metrics cover all data, and requests to stop are agreed on. All ranks create the same
// Learner and call the same functions; rank 0's weights and checkpoints are used, and only it has callbacks and writes
// files. With Sharding::State or Sharding::Gradients after the ranks, each has only its part of the optimizer's state.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "kiln/train/loop/typed_loop.hpp"
#include "kiln/train/predict.hpp"

namespace kiln {

template <class Model, class Optimizer, class Step>
class Learner final : public training::TypedLoop<typename training::Parts<Model, Optimizer, Step>::M,
                                                 typename training::Parts<Model, Optimizer, Step>::O,
                                                 typename training::Parts<Model, Optimizer, Step>::F> {
  using Parts = training::Parts<Model, Optimizer, Step>;
  static_assert(
      Parts::kModelFits,
      "Learner: the model is no module: make it a plain struct of parameters and modules without private fields, "
      "or give it a layers() that returns std::tie of them");
  static_assert(Parts::kStepHasTypes,
                "Learner: the step is no function whose parameters have types: write (const Model& model, Batch batch) "
                "without auto");
  static_assert(Parts::kStepTakesThem,
                "Learner: the step takes (const Model&, Batch), or by hand (Model&, Optimizer&, const StepContext&, "
                "Batch), with the types of the model and the optimizer that stand before it");
  static_assert(Parts::kStepHasLoss,
                "Learner: the step returns its loss, a Tensor<0>, or a struct with a field `loss` that is one");
  static_assert(Parts::kOptimizerFits,
                "Learner: the optimizer has no step() for this model: a config makes one by AdamConfig{}.init(model)");

  using M = typename Parts::M;
  using O = typename Parts::O;
  using F = typename Parts::F;
  using Base = training::TypedLoop<M, O, F>;
  using Base::model_, Base::optimizer_, Base::step_, Base::valid_step_;
  using training::Loop::keep_checkpoints, training::Loop::keep_histograms, training::Loop::keep_pictures;
  using training::Loop::run_, training::Loop::train_metrics_, training::Loop::valid_metrics_;
  using training::Loop::set_fact, training::Loop::set_plateau, training::Loop::set_rate, training::Loop::set_rates;

 public:
  using Batch = typename training::SignatureOf<F>::Batch;
  using Output = typename training::SignatureOf<F>::Output;

  /// Throws ArgumentError for an invalid configuration.
  Learner(Model model, Optimizer optimizer, Step step, const LearnerConfig& config)
      : Base(training::part<M>(model), training::part<O>(optimizer), training::part<F>(step), config) {}
  /// The Learner of one of several ranks, which may share the optimizer's state. fit() throws ConfigError if their Learners differ,
  /// and IoError if a rank has left. Throws ArgumentError if the optimizer's state cannot be shared.
  Learner(Model model, Optimizer optimizer, Step step, const LearnerConfig& config, Ranks ranks,
          Sharding sharding = Sharding::None)
      : Learner(std::move(model), std::move(optimizer), std::move(step), config) {
    this->train_with(std::move(ranks), sharding, Base::kHasParts);
  }

  /// Throws ArgumentError for a rate that is not positive. Without it and without a schedule, the rate is 1e-3, which a
  /// Message says.
  Learner& rate(double rate) {
    set_rate(rate);
    return *this;
  }
  /// A config of kiln/optim/schedule.hpp, which gives the rate, or rates, of each step or epoch, counted from 0. Throws
  /// ArgumentError for an invalid one, and fit() does if a rate is negative or NaN.
  template <class Schedule>
  Learner& schedule(const Schedule& schedule, Every every = Every::Step) {
    constexpr bool kHasRates = requires { schedule.at(std::int64_t{}); };
    static_assert(kHasRates,
                  "Learner::schedule: a schedule has at(step), such as CosineConfig; one number is a rate(1e-3)");
    if constexpr (kHasRates) set_schedule(schedule, every);
    return *this;
  }
  /// A rate that falls when a metric stops improving.
  Learner& plateau(const ReduceOnPlateauConfig& config, MetricName name = {}) {
    set_plateau(config, std::move(name));
    return *this;
  }

  /// Adds a metric of the training data and of the validation data.
  template <class T>
  Learner& metric(const T& metric, const std::string& name = metric::name_of<T>()) {
    add_metric(train_metrics_, metric, name);
    add_metric(valid_metrics_, metric, name);
    return *this;
  }
  template <class T>
  Learner& train_metric(T metric, const std::string& name = metric::name_of<T>()) {
    add_metric(train_metrics_, std::move(metric), name);
    return *this;
  }
  template <class T>
  Learner& valid_metric(T metric, const std::string& name = metric::name_of<T>()) {
    add_metric(valid_metrics_, std::move(metric), name);
    return *this;
  }
  /// feed(metric, output) calls the metric's update with the values that it needs from an output.
  template <Metric T, class Feed>
  requires std::invocable<Feed&, T&, const Output&>
  Learner& metric(const T& metric, const std::string& name, Feed feed) {
    train_metrics_.template add<Output>(metric, name, feed);
    valid_metrics_.template add<Output>(metric, name, std::move(feed));
    return *this;
  }

  /// An average of the weights over the steps, which is used in validation: EmaConfig{} or SwaConfig{}.
  template <class Config>
  Learner& average(const Config& config) {
    this->optional_state_.average = config.init(model_);
    set_fact("average", training::fact_from(config));
    return *this;
  }
  /// The step of validation if it differs from that of training: (const Model&, Batch) -> Output.
  template <class V>
  Learner& valid_step(V step) {
    static_assert(std::is_same_v<typename training::SignatureOf<V>::Output, Output>,
                  "the step of validation returns what the step of training does");
    valid_step_ = [step = std::move(step)](const M& model, void* batch, bool owned) mutable {
      return training::call_step(step, batch, owned, model);
    };
    return *this;
  }
  /// Adds a callback: see events.hpp. With several ranks, only the first has it.
  template <class Callback>
  Learner& add(Callback callback) {
    static_assert(training::kIsCallback<Callback> || training::kIsCallbackWith<Callback, M>,
                  "a callback has an on(event) for some event of kiln/train/events.hpp");
    const auto held = Base::add(std::move(callback));
    if constexpr (training::kIsCallbackWith<Callback, M>)
      if (held)
        run_.listen([this, held](const training::Event& event) { training::notify_with(*held, event, model_); });
    return *this;
  }

  /// Histograms of parameters and of their gradients, for logs and displays. The Learner then waits for each loss before
  /// it takes the next step. Ranks that share the optimizer's state have parts of the gradients, which are then left
  /// out. Throws ArgumentError for an invalid configuration, one that selects no parameter, or a step that is written by
  /// hand.
  Learner& histograms(const HistogramConfig& config = {}) {
    keep_histograms(config);
    return *this;
  }
  /// A picture for logs and displays: draw(model), an Image or a Picture, is called with the model for inference after
  /// each evaluation of `fit(train, valid)`, or after each epoch of `fit(train)`; of several ranks, all set it and the
  /// first calls it. Throws ArgumentError if the name is taken.
  template <class Draw>
  requires std::invocable<Draw&, const M&> Learner& pictures(const std::string& name, Draw draw) {
    keep_pictures(name, [this, draw = std::move(draw)](bool leads) mutable -> std::optional<PngPicture> {
      const M model = result();  // on all ranks, as each may have a part of the average
      if (!leads) return std::nullopt;
      return png_of(draw(model));
    });
    return *this;
  }

  /// Saves checkpoints to `directory` by these rules, and at the end. fit() continues from the newest checkpoint there,
  /// to the same bits as a run that was never interrupted, or, unless `resume`, begins a new run. fit() throws
  /// ConfigError if the directory belongs to another configuration (`configuration` is the user's own), and, with
  /// CheckpointRules::exact, if the optimizer, the rates or the loader differ.
  Learner& checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules = {}, bool resume = true,
                       Json configuration = {}) {
    keep_checkpoints(directory, rules, resume, std::move(configuration));
    return *this;
  }

  /// Trains until a limit is reached or a stop is requested; may be called again. Errors of a step are passed on, with
  /// the model as the last complete step left it.
  template <class Train, class Valid>
  training::RunEnd fit(Train&& train, Valid&& valid) {
    const training::Batches batches = batches_of(valid);
    return Base::fit(batches_of(train), &batches);
  }
  template <class Train>
  training::RunEnd fit(Train&& train) {
    return Base::fit(batches_of(train), nullptr);
  }

  /// Tries a program in seconds: takes `steps` steps and measures as many batches of `valid`, with copies of model,
  /// optimizer and metrics, so that this Learner stays as it is. Callbacks are not called and nothing is saved. Errors
  /// of steps and metrics are passed on. Throws ArgumentError after a fit() of ranks that share the optimizer's state.
  template <class Train, class Valid>
  requires(!std::integral<std::remove_cvref_t<Valid>>)
  training::RunEnd fast_dev_run(Train&& train, Valid&& valid, std::int64_t steps = 1) {
    const training::Batches measured = training::first_of(batches_of(valid), steps);
    return trial(batches_of(train), &measured, steps);
  }
  template <class Train>
  training::RunEnd fast_dev_run(Train&& train, std::int64_t steps = 1) {
    return trial(batches_of(train), nullptr, steps);
  }

  /// What f(model, batch) gives for each batch, with result(): see kiln::predict().
  template <class G, class Data>
  auto predict(G f, Data&& data) const {
    return kiln::predict(result(), std::move(f), data);
  }

  const M& model() const { return model_; }
  /// The model for inference: the average, if there is one, in Mode::Valid. If ranks share the state of an optimizer
  /// that averages (ScheduleFreeAdamW), all ranks call it together.
  [[nodiscard("result() changes nothing: it returns a model")]] M result() const { return this->inference(); }
  /// After fit(), if ranks share its state, it has this rank's part.
  const O& optimizer() const { return optimizer_; }

 private:
  template <class Schedule>
  void set_schedule(const Schedule& schedule, Every every) {
    if constexpr (std::is_same_v<Schedule, ConstantConfig>) require_rate(schedule.rate);
    if constexpr (requires { schedule.check(); }) schedule.check();
    set_rates([schedule, every](const training::Position& at) {
      const auto now = schedule.at(every == Every::Step ? at.step : at.epoch);
      if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(now)>>) return Rates{now};
      else return Rates(now.begin(), now.end());
    });
    set_fact("rates", training::fact_from(schedule));
    set_fact("rates by", training::fact([&] { return to_json(every); }));
  }

  template <class T>
  void add_metric(MetricList& metrics, T metric, const std::string& name) {
    constexpr bool kMetric = Metric<T>, kTakes = metric::Takes<T, Output>;
    static_assert(kMetric, "a metric is a plain struct with a value() const that returns a number or a text");
    static_assert(!kMetric || !Parts::kFit || kTakes,
                  "this metric does not take the step's output: name its fields scores or predictions, and targets, or "
                  "say how by metric(metric, name, function of (metric, output))");
    if constexpr (kMetric && kTakes) metrics.add<Output>(std::move(metric), name, metric::feed<T, Output>);
  }

  template <class Data>
  static training::Batches batches_of(Data& data) {
    constexpr bool kFit = training::GivesBatches<Data, Batch>;
    static_assert(
        !Parts::kFit || kFit,
        "the data are no loader or container of batches of the type that the step takes: DataLoader(data set, "
        "batcher) makes batches of items");
    if constexpr (kFit) return training::batches_of<Batch>(data);
    else return {};
  }

  training::RunEnd trial(const training::Batches& train, const training::Batches* valid, std::int64_t steps) {
    static_assert(std::copy_constructible<M> && std::copy_constructible<O> && std::copy_constructible<F>,
                  "fast_dev_run() works with copies of model, optimizer and step");
    if constexpr (Parts::kFit) {
      const LearnerConfig config = Base::trial_config(run_.config(), steps);
      Learner copy(model_, optimizer_, step_, config);
      copy.try_out(*this);
      copy.valid_step_ = valid_step_;
      return copy.Base::fit(training::first_of(train, steps * config.accumulate), valid);
    } else {
      return {};
    }
  }
};

}  // namespace kiln
