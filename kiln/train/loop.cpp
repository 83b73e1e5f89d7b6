#include "kiln/train/loop.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::training {

Loop::Loop(const LearnerConfig& config, bool by_hand) : run_(config), by_hand_(by_hand) {
  if (config.scaler || config.autocast == DType::F16)
    extras_.scaler = config.scaler.value_or(GradientScalerConfig{}).init();
  require<ArgumentError>(!by_hand || (config.accumulate == 1 && !config.autocast && !extras_.scaler &&
                                      config.not_finite != NotFinite::Skip),
                         "training: a step that is written by hand accumulates, casts, scales and skips by itself");
  set_rate(1e-3);
}

void Loop::set_rate(double rate) {
  set_rates([rate](const Position&) { return Rates{rate}; });
}

void Loop::set_plateau(const ReduceOnPlateauConfig& config, MetricName name) {
  extras_.plateau = config.init();
  set_rates([this](const Position&) { return Rates{extras_.plateau->rate()}; });
  run_.listen([this, name = std::move(name)](const Event& event) {
    const auto* const e = std::get_if<Evaluation>(&event);
    if (!e || !e->complete || e->split != name.split) return;
    if (const Reading* const reading = e->find(name.metric)) extras_.plateau->observe(reading->value);
  });
}

void Loop::keep_checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume,
                            Json configuration) {
  if (!team_.leads()) return;
  checkpoints_.keep(directory, rules, resume, run_.configuration(std::move(configuration)));
  record(checkpoints_.objects());
}

Ending Loop::fit(const Batches& train, const Batches* valid) {
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

// Of several ranks: all that is trained becomes rank 0's.
void Loop::share() {
  if (!team_.several()) return;
  RecordedObjects all;
  record(all);
  Checkpoints::add_state(all, run_, extras_);
  team_.share(all);
}

Ending Loop::train_on(const Batches& train, const Batches* valid) {
  const SignalScope signals;
  require<ArgumentError>(
      !train.place || !team_.several(),
      "training: ranks count their batches beforehand, which a stream cannot; give each its shard of "
      "an indexed data set");
  team_.require_same(model_ref(), optimizer_type(), run_.config(),
                     {&train_metrics_, valid ? &valid_metrics_ : nullptr});
  if (train.place && !extras_.stream) extras_.stream.emplace();
  checkpoints_.open(run_, extras_, train_metrics_);
  share();
  if (train.restore) train.restore(*extras_.stream);
  checkpoints_.before_each([&] {
    if (train.place) extras_.stream = train.place();
  });
  gradients_ = {};
  gathered_items_ = gathered_batches_ = 0;
  run_.begin(team_.most(train.size(run_.at.epoch)), num_params(model_ref()), devices_of(model_ref()));
  team_.agree(run_, false);
  while (!run_.done()) {
    const std::int64_t epoch = run_.at.epoch, own = train.size(epoch);
    run_.expect(team_.most(own));
    const auto learn_from = [&](void* batch, bool owned) {
      if (learn(batch, owned)) step_ended(valid);
      return run_.at.epoch == epoch && !run_.done();
    };
    train.each(epoch, run_.at.batch, learn_from);
    // A rank that has fewer batches than others takes part in their steps.
    while (run_.at.epoch == epoch && run_.at.batch >= own && !run_.done() && learn_from(nullptr, false)) {}
    run_.require_past(epoch);
  }
  if (team_.agree(run_, checkpoints_.lacks(run_))) save();
  checkpoints_.finish();
  share();  // what each has learned of its data alone is the same everywhere
  const Ending ending{run_.at, run_.reason()};
  run_.tell(ending);
  return ending;
}

/// One batch, or none where other ranks have one; whether it was the last of its step.
bool Loop::learn(void* batch, bool owned) {
  Key key = run_.batch_key();
  if (team_.several()) key = key.split(static_cast<std::uint64_t>(team_.rank()));
  for (const Device& device : devices_of(model_ref())) device.seed(key.bits);
  const Rates rates = rates_(run_.at);
  const StepContext context{rates, run_.at, team_};
  Outcome outcome;  // of no items where there is no batch
  Team::Batch own, total;
  const auto add_up = [&] {
    if (outcome.output) own = {static_cast<double>(outcome.loss->item()), outcome.items};
    total = team_.total(own.loss, own.items);
    run_.require_items(total.items);
    return run_.accepts(total.loss);
  };
  bool accepted = true;
  if (by_hand_) {
    require<DataError>(batch, "training: this rank has ", run_.at.batch,
                       " batches and others have more: a step by hand needs as many on all ranks");
    outcome = call_step(batch, owned, context);
    accepted = add_up();
  } else {
    const LearnerConfig& config = run_.config();
    if (config.not_finite == NotFinite::Skip) remember();  // as batch norm learns from a batch that is then left out
    GradientsParams grads;
    Team::Part part;
    if (batch)
      grads = nn::value_and_grad(model_ref(), [&] {
                std::optional<Autocast> half;
                if (config.autocast) half.emplace(*config.autocast);
                outcome = call_step(batch, owned, context);
                part = team_.part(outcome.items);
                const Tensor<0> plain = *std::exchange(outcome.loss, outcome.loss->detach());
                const Tensor<0> loss = part.weight == 1 ? plain : plain * part.weight;
                return (extras_.scaler ? extras_.scaler->scale(loss) : loss).value();
              }).grads;
    else part = team_.part(0);
    accepted = add_up();
    const bool gathers = config.accumulate > 1 || team_.several();
    if (!accepted) {
      grads = {};
      go_back();
    } else if (gathers) {
      if (outcome.output) gradients_.add(scaled(grads, part.mean_items));
      gathered_items_ += total.items;
      ++gathered_batches_;
    }
    if (run_.completes_step()) {
      if (gathers) grads = gathered();
      if (!grads.by_path.empty()) {
        if (extras_.scaler) grads = extras_.scaler->unscale(std::move(grads));
        update(rates, grads);
        if (extras_.average) extras_.average->update(model_ref());
      }
    }
  }
  if (accepted && outcome.output) {
    const NoGrad pause;
    train_metrics_.update(outcome.output.get(), own.loss, own.items);
  }
  if (!run_.batch_done(total.loss, accepted ? total.items : 0)) return false;
  run_.step_done(rates);
  return true;
}

// Gradients of the mean over a step are those of its batches, each as often as it has items.
GradientsParams Loop::gathered() {
  const std::int64_t items = std::exchange(gathered_items_, 0);
  if (std::exchange(gathered_batches_, 0) == 0) return {};  // all were left out
  GradientsParams own = gradients_.count() > 0 ? gradients_.sum() : GradientsParams{};
  return scaled(team_.sum(own, model_ref()), 1.0 / static_cast<double>(std::max<std::int64_t>(items, 1)));
}

void Loop::step_ended(const Batches* valid) {
  const bool ended = run_.epoch_ended();
  if (run_.metrics_due()) run_.tell(Evaluation{run_.at, "train", team_.readings(train_metrics_), ended});
  if (valid && run_.validation_due()) {
    measure(*valid);
    run_.tell(Evaluation{run_.at, "valid", team_.readings(valid_metrics_)});
  }
  if (ended) {
    team_.require_same_weights(model_ref());
    train_metrics_.clear();
    run_.next_epoch();
  }
  if (team_.agree(run_, checkpoints_.due(run_, ended))) save();
}

void Loop::save() {
  team_.gather(train_metrics_);
  checkpoints_.save(run_);
}

}  // namespace kiln::training
