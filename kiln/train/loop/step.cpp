// A Loop's work with one batch: its loss, its gradients, alone or with those of other ranks and batches, and the update.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/train/loop.hpp"

namespace kiln::training {
namespace {

/// Returns the path of the first trained parameter that is not finite.
std::optional<std::string> not_finite_weights(const nn::ModuleView& model) {
  const NoGrad pause;
  std::vector<std::pair<std::string, Value>> finite;
  visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
    if (!param.is_frozen()) finite.emplace_back(path, all(is_finite(param.value())));
  });
  for (const auto& [path, value] : finite)
    if (value.item() == 0) return path;
  return std::nullopt;
}

}  // namespace

Loop::BatchResult Loop::learn_by_hand(void* batch, bool owned, const StepContext& context) {
  require<DataError>(batch, "training: this rank has ", run_.at.batch,
                     " batches and others have more: a step by hand needs as many on all ranks");
  return combine_outcomes(call_step(batch, owned, context));
}

Loop::BatchResult Loop::learn_by_gradients(void* batch, bool owned, const StepContext& context) {
  const LearnerConfig& config = run_.config();
  const bool skips = config.not_finite == NotFinite::Skip, accumulates = config.accumulate > 1;
  if (skips || most_ahead_ > 0) save_model();  // batch norm, for one, learns from a batch that is then left out
  Outcome outcome;                             // without items where there is no batch
  Team::BatchShare part;
  const auto loss = [&] {
    std::optional<Autocast> half;
    if (config.autocast) half.emplace(*config.autocast);
    outcome = call_step(batch, owned, context);
    part = team_.part(outcome.items);
    const Tensor<0> plain = *std::exchange(outcome.loss, outcome.loss->detach());
    const Tensor<0> weighted = part.weight == 1 ? plain : plain * part.weight;
    return (optional_state_.scaler ? optional_state_.scaler->scale(weighted) : weighted).value();
  };
  if (!batch) part = team_.part(0);
  // Ranks combine the gradients of a step while its last batch is computed. Where that batch may still be left out of
  // an accumulated step, they wait until this is known.
  const bool each = combines_each();
  const bool within = each || (team_.several() && run_.completes_step() && !(accumulates && skips));
  std::optional<Buckets> buckets;
  GradientsParams grads;
  if (within) buckets.emplace(start_combining(batch, loss, part));
  else if (batch) grads = nn::value_and_grad(model_ref(), loss).grads;
  if (most_ahead_ > 0) {
    if (std::optional<AwaitedOutcome> awaited = AwaitedOutcome::of(outcome, train_metrics_, runs_ahead_)) {
      runs_ahead_ = true;
      run_.require_items(outcome.items);
      keep_state();
      update_with(std::move(grads), false, context.rates);
      return {.awaited = std::move(awaited)};
    }
    most_ahead_ = 0;  // a device that computes at once, or metrics that have to read there
    drop_saved_model();
  }
  BatchResult result = combine_outcomes(std::move(outcome));
  if (result.accepted) {
    if (skips) drop_saved_model();
    if (within) grads = buckets->finish();
    if (each) gradients_.add(std::exchange(grads, {}));
    else if (!within && accumulates && result.outcome.output) gradients_.add(scaled(grads, part.mean_items));
    gathered_items_ += result.total.items;
    ++gathered_batches_;
  } else {
    grads = {};
    restore_model();
  }
  if (run_.completes_step()) update_with(std::move(grads), within && !each, context.rates);
  return result;
}

Loop::BatchResult Loop::combine_outcomes(Outcome outcome) {
  BatchResult result{.outcome = std::move(outcome)};
  if (result.outcome.output) result.own = {static_cast<double>(result.outcome.loss->item()), result.outcome.items};
  result.total = team_.total(result.own.loss, result.own.items);
  run_.require_items(result.total.items);
  result.accepted = run_.accepts(result.total.loss, [&] { return cause_of_loss(); });
  return result;
}

void Loop::update_with(GradientsParams grads, bool combined, const Rates& rates) {
  const std::int64_t items = std::exchange(gathered_items_, 0), batches = std::exchange(gathered_batches_, 0);
  if (run_.config().accumulate > 1) {
    if (!combined && batches > 0) {
      grads = earlier_gradients();
      if (!combines_each())
        grads = team_.combined(std::move(grads), Combine::Sum, model_ref(), Buckets::Halves::InFloat32);
    }
    // The gradients of the mean over a step are those of its batches, weighted by their numbers of items.
    grads = scaled(std::move(grads), 1.0 / static_cast<double>(std::max<std::int64_t>(items, 1)));
  }
  // A rank whose parts of parameters have no gradients takes part in the step nevertheless.
  if (shards_ ? batches == 0 : grads.by_path.empty()) return;
  const auto everywhere = [&](bool here) { return shards_ ? team_.everywhere(here) : here; };
  if (optional_state_.scaler && !optional_state_.scaler->unscale(grads, everywhere)) grads = {};
  else {
    if (histograms_ && team_.leads() && run_.at.step % histograms_->every == 0)
      report_distributions(*histograms_, run_, model_ref(), shards_ ? GradientsParams{} : grads);
    if (shards_) shards_->step(rates, model_ref(), grads);
    else update(rates, grads);
  }
  if (optional_state_.average) optional_state_.average->update(model_ref());
}

std::string Loop::cause_of_loss() {
  if (const auto path = not_finite_weights(model_ref()))
    return text("the weights '", *path, "' are not finite: ",
                by_hand_
                    ? "this step, which has changed them, or an earlier one was too large or met NaN in its batch, so "
                      "look for NaN, try a lower rate, or clip gradients"
                    : "an earlier step was too large, so try a lower rate, or clip gradients");
  return "all weights are finite: try a lower rate, and look for NaN in the batch, for a logarithm of 0 or a division "
         "by 0 in the step";
}

void Loop::check_weights() {
  if (std::exchange(checked_step_, run_.at.step) == run_.at.step) return;
  if (const auto path = not_finite_weights(model_ref())) run_.report_not_finite(text("the weights '", *path, '\''));
}

GradientsParams Loop::earlier_gradients() { return gradients_.count() > 0 ? gradients_.sum() : GradientsParams{}; }

Buckets Loop::start_combining(const void* batch, FunctionRef<Value()> loss, const Team::BatchShare& part) {
  const bool accumulates = run_.config().accumulate > 1;
  Buckets all = team_.buckets(accumulates ? Combine::Sum : Combine::Mean, model_ref(), Buckets::Halves::InFloat32);
  GradientsParams earlier = combines_each() ? GradientsParams{} : earlier_gradients();
  const auto add = [&](const std::string& path, Value grad) {
    if (accumulates) {
      const NoGrad pause;
      grad = cast(grad * part.mean_items, promote(grad.dtype(), DType::F32));
      if (const auto before = earlier.by_path.extract(path)) grad = before.mapped() + grad;
    }
    all.add(path, grad);
  };
  if (batch) (void)nn::differentiate(model_ref(), loss, add);
  for (auto& [path, grad] : earlier.by_path) all.add(path, std::exchange(grad, {}));
  all.start_rest();
  return all;
}

}  // namespace kiln::training
