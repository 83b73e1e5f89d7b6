#include "kiln/train/loop.hpp"

#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::training {
namespace {

constexpr std::string_view kPlateau = "reduce on plateau";
constexpr double kDefaultRate = 1e-3;

Measured measured(std::string split, const MetricList& metrics) {
  Measured measured{std::move(split), metrics.names()};
  measured.metrics.insert(measured.metrics.begin(), "loss");
  measured.texts = metrics.text_names();
  return measured;
}

/// Checks the rates that a user's own schedule returns.
void require_rates(const std::vector<double>& rates, const Position& at) {
  require<ArgumentError>(!rates.empty(), "training: the schedule gives no rate for step ", at.step + 1);
  for (std::size_t i = 0; i < rates.size(); ++i)
    require<ArgumentError>(std::isfinite(rates[i]) && rates[i] >= 0, "training: the schedule's ", rate_name(i),
                           " for step ", at.step + 1, " is ", rates[i], ", it must be finite and not negative");
}

}  // namespace

Loop::Loop(const LearnerConfig& config, bool by_hand) : run_(config), by_hand_(by_hand) {
  if (config.scaler || config.autocast == DType::F16)
    optional_state_.scaler = config.scaler.value_or(GradientScalerConfig{}).init();
  require<ArgumentError>(!by_hand || (config.accumulate == 1 && !config.autocast && !optional_state_.scaler &&
                                      config.not_finite != NotFinite::Skip),
                         "training: a step that is written by hand accumulates, casts, scales and skips by itself");
  set_rate(kDefaultRate);
  has_default_rate_ = true;
}

void Loop::train_with(Ranks ranks, Sharding sharding, bool has_parts) {
  require<ArgumentError>(sharding == Sharding::None || (has_parts && !by_hand_), "training: ranks can share the state ",
                         by_hand_ ? "of an optimizer only where the Learner takes its steps, and this step is by hand"
                                  : "of an Optimizer, and this one is of another type");
  team_ = Team(std::move(ranks), sharding);
}

void Loop::require_rate(double rate) {
  require<ArgumentError>(std::isfinite(rate) && rate > 0, "training: the rate is ", rate,
                         ", it must be positive and finite; freeze() leaves parameters as they are");
}

void Loop::set_rate(double rate) {
  require_rate(rate);
  set_rates([rate](const Position&) { return Rates{rate}; });
  set_fact("rates", Json{rate});
  set_fact("rates by", {});
}

void Loop::set_fact(std::string_view name, Json fact) {
  std::erase_if(facts_, [&](const auto& each) { return each.first == name; });
  facts_.emplace_back(name, std::move(fact));
}

void Loop::set_plateau(const ReduceOnPlateauConfig& config, MetricName name) {
  optional_state_.plateau = config.init();
  set_rates([this](const Position&) { return Rates{optional_state_.plateau->rate()}; });
  set_fact("rates", fact_from(config));
  set_fact("rates by", Json{text(name.split, ' ', name.metric)});
  run_.listen([this, name = std::move(name)](const Event& event) {
    if (const auto* const begin = std::get_if<Begin>(&event))
      require_measured(kPlateau, *begin, name.split, name.metric);
    const auto* const e = std::get_if<Evaluation>(&event);
    if (e && e->complete && e->split == name.split) optional_state_.plateau->observe(e->number(kPlateau, name.metric));
  });
}

void Loop::keep_checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume,
                            Json configuration) {
  if (!team_.leads()) return;
  checkpoints_.keep(directory, rules, resume, run_.configuration(std::move(configuration)));
  record_model(checkpoints_.objects());
  record_optimizer(checkpoints_.objects());
}

void Loop::keep_histograms(const HistogramConfig& config) {
  config.check();
  require<ArgumentError>(
      !by_hand_, "histograms: a step that is written by hand keeps its gradients to itself: make histograms there");
  require<ArgumentError>(config.weights || team_.sharding() == Sharding::None,
                         "histograms: ranks that share the optimizer's state have parts of the gradients only: make "
                         "histograms of weights");
  (void)selected_params(model_ref(), config.which);  // selects some
  histograms_ = config;
}

void Loop::keep_pictures(std::string name, DrawPicture draw) {
  for (const auto& [other, drawn] : pictures_)
    require<ArgumentError>(other != name, "training: there are two pictures called '", name, '\'');
  pictures_.emplace_back(std::move(name), std::move(draw));
}

void Loop::draw_pictures() {
  const NoGrad pause;
  for (const auto& [name, draw] : pictures_)
    if (auto picture = draw(team_.leads())) run_.notify(Drawing{run_.at, name, *std::move(picture)});
}

LearnerConfig Loop::trial_config(LearnerConfig config, std::int64_t steps) {
  require<ArgumentError>(steps >= 1, "fast_dev_run: ", steps, " steps; it takes at least one");
  config.epochs = config.validate_every = std::nullopt;
  config.seconds = std::nullopt;
  config.steps = config.validate_every = steps;
  return config;
}

void Loop::try_out(const Loop& other) {
  require<ArgumentError>(!other.shards_,
                         "fast_dev_run: ranks share the optimizer's state since fit(), and this one has a part of it: "
                         "call fast_dev_run() before fit()");
  rates_ = other.rates_;
  has_default_rate_ = other.has_default_rate_;
  train_metrics_ = other.train_metrics_.fresh();
  valid_metrics_ = other.valid_metrics_.fresh();
  optional_state_.average = other.optional_state_.average;
}

void Loop::report_doubts(const Batches* valid) {
  const auto say = [&](std::string sentence) { run_.notify(Message{std::move(sentence)}); };
  // A stream would be read to its end to be counted, which it may not have.
  if (valid && !valid->place && !team_.several() && valid->size(0) == 0)
    say("the validation data have no batches: nothing will be measured");
  if (by_hand_ || run_.at.step > 0) return;
  if (has_default_rate_)
    say(text("the rate is ", kDefaultRate, ", as none was given: rate(...) or schedule(...) sets it"));
  bool any = false, trains = false, frozen = false;
  nn::walk(model_ref(), [&](const nn::PartPath&, nn::AnyLeaf& leaf) {
    const nn::Mode* const mode = leaf.get<nn::Mode>();
    any = any || mode;
    trains = trains || (mode && *mode == nn::Mode::Train);
    frozen = frozen || (leaf.is_param() && !leaf.empty() && leaf.is_frozen());
  });
  if (any && !trains && !frozen)  // the norms of a body that is frozen stay as they are, on purpose
    say("the model is in Mode::Valid, without dropout and the like: train(model) makes one for training");
}

RunEnd Loop::fit(const Batches& train, const Batches* valid) {
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

// Gives rank 0's state of all that is trained to the other ranks. What ranks have a part of stays theirs.
void Loop::share() {
  if (!team_.several()) return;
  RecordedObjects all;
  record_model(all);
  if (!shards_) record_optimizer(all);
  Checkpoints::add_state(all, run_, optional_state_);
  team_.share(all);
}

RunEnd Loop::train_on(const Batches& train, const Batches* valid) try {
  const SignalScope signals;
  team_.require_same(model_ref(), optimizer_type(), run_.config(),
                     {&train_metrics_, valid ? &valid_metrics_ : nullptr});
  if (train.place && !optional_state_.stream) optional_state_.stream.emplace();
  set_fact("optimizer", optimizer_facts());
  // The data of each of several ranks depends on the number of ranks, which may change.
  set_fact("data", train.description && !team_.several() ? train.description() : Json{});
  checkpoints_.open(run_, optional_state_, train_metrics_, facts_);
  require<ArgumentError>(shards_ || !optimizer_state() || !optimizer_state()->is_shared(),
                         "training: this optimizer has its rank's part of a state alone, which another Learner's ranks "
                         "share; go on from a checkpoint of that training");
  share();
  if (team_.sharding() != Sharding::None && !shards_) shards_ = team_.shard(*optimizer_state(), model_ref());
  if (train.restore) train.restore(team_.own_place(optional_state_.places, *optional_state_.stream));
  gradients_ = {};
  gathered_items_ = gathered_batches_ = 0;
  checked_step_ = -1;
  forget_ahead();
  runs_ahead_ = false;
  most_ahead_ = most_ahead(train);
  std::vector<Measured> measures = {measured("train", train_metrics_)};
  if (valid) measures.push_back(measured("valid", valid_metrics_));
  run_.begin(team_.most(train.size(run_.at.epoch)), num_params(model_ref()), devices_of(model_ref()),
             std::move(measures));
  report_doubts(valid);
  train_metrics_.begin();
  team_.agree(run_, false);
  while (!run_.done()) {
    const std::int64_t epoch = run_.at.epoch, own = train.size(epoch);
    run_.expect(team_.most(own));
    const auto learn_from = [&](void* batch, bool owned) {
      // A callback may stop the training at a step whose loss has come meanwhile.
      if (settle(most_ahead_) && !run_.done() && learn(batch, owned)) step_ended(train, valid);
      if (run_.done()) (void)settle();
      return run_.at.epoch == epoch && !run_.done();
    };
    try {
      train.each(epoch, run_.at.batch, learn_from);
      (void)settle();  // where the data end too early
    } catch (...) {
      if (!stops_before_error()) throw;
    }
    // A rank that has fewer batches than others takes part in their steps.
    while (run_.at.epoch == epoch && run_.at.batch >= own && !run_.done() && learn_from(nullptr, false)) {}
    run_.require_past(epoch);
  }
  check_weights();
  if (team_.agree(run_, checkpoints_.lacks(run_), /*discard=*/!run_.control().saves_end())) save(train);
  callbacks_.report_missed(run_);
  checkpoints_.finish();
  share();  // state that a rank has learned from its own data alone becomes rank 0's
  const RunEnd ending{run_.at, run_.reason()};
  run_.notify(ending);
  return ending;
} catch (...) { rethrow_as_memory_error("training"); }

/// Learns from one batch, or from none where only other ranks have one. Returns whether it was the last of its step.
bool Loop::learn(void* batch, bool owned) {
  Key key = run_.batch_key();
  if (team_.several()) key = key.split(static_cast<std::uint64_t>(team_.rank()));
  for (const Device& device : devices_of(model_ref())) device.seed(key.bits);
  const Rates rates = rates_(run_.at);
  require_rates(rates, run_.at);
  const StepContext context{rates, run_.at, team_};
  const Position before = run_.at;
  BatchResult result = by_hand_ ? learn_by_hand(batch, owned, context) : learn_by_gradients(batch, owned, context);
  if (result.awaited) {
    const std::int64_t items = result.awaited->items();
    ahead_.push_back({*std::move(result.awaited), before, run_.step_ahead(items, rates)});
    return true;
  }
  if (result.accepted && result.outcome.output) {
    const NoGrad pause;
    train_metrics_.update(result.outcome.output.get(), result.own.loss, result.own.items);
  }
  if (!run_.batch_done(result.total.loss, result.accepted ? result.total.items : 0)) return false;
  run_.step_done(rates);
  return true;
}

void Loop::step_ended(const Batches& train, const Batches* valid) {
  const bool ended = run_.epoch_ended(), validates = valid && run_.validation_due();
  if ((run_.metrics_due() || validates || ended) && !settle()) return;
  if (run_.metrics_due()) run_.notify(Evaluation{run_.at, "train", team_.readings(train_metrics_), ended});
  if (validates) {
    measure(*valid);
    const Evaluation evaluation{run_.at, "valid", team_.readings(valid_metrics_)};
    run_.notify(evaluation);
    if (const Reading& loss = evaluation.readings.at(0); loss.problem.empty() && !std::isfinite(loss.value))
      run_.report_not_finite(text("the loss of validation is ", loss.value));
  }
  if (validates || (ended && !valid)) draw_pictures();
  if (ended) {
    team_.require_same_weights(model_ref());
    train_metrics_.clear();
    train_metrics_.begin();
    run_.next_epoch();
  }
  if (team_.agree(run_, checkpoints_.due(run_, ended)) && settle()) save(train);
}

void Loop::save(const Batches& train) {
  check_weights();  // reports weights that are not finite before a checkpoint has them
  team_.gather(train_metrics_);
  if (train.place) {
    optional_state_.stream = train.place();
    optional_state_.places = team_.places(*optional_state_.stream);
  }
  if (shards_) shards_->with_whole_state([&] { checkpoints_.save(run_); });
  else checkpoints_.save(run_);
}

}  // namespace kiln::training
