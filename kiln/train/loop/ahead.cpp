// Steps that a Loop takes before the losses of earlier ones are there, and what undoes them.
#include <algorithm>
#include <utility>

#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/train/loop.hpp"

namespace kiln::training {

std::size_t Loop::most_ahead(const Batches& train) {
  constexpr std::int64_t kMostSteps = 16, kMostBytes = std::int64_t{256} << 20, kBytesEach = 12;  // of Adam's state
  const LearnerConfig& config = run_.config();
  const bool simple = !by_hand_ && !team_.several() && config.accumulate == 1 && config.not_finite != NotFinite::Skip &&
                      !optional_state_.scaler && !optional_state_.average && !train.place && !histograms_ &&
                      can_keep_states();
  if (!simple) return 0;
  const std::int64_t bytes = std::max<std::int64_t>(kBytesEach * num_params(model_ref()), 1);
  return static_cast<std::size_t>(std::min(kMostSteps, kMostBytes / bytes));
}

bool Loop::settle(std::size_t most) {
  while (!ahead_.empty() && (ahead_.size() > most || ahead_.front().outcome.is_there()))
    if (!settle_oldest()) return false;
  return true;
}

bool Loop::settle_oldest() {
  StepAhead oldest = std::move(ahead_.front());
  ahead_.pop_front();
  const bool is_newest = ahead_.empty(), was_asked = run_.control().should_stop();
  const Position newest = std::exchange(run_.at, oldest.before);
  swap_state();  // the model is what it was before the step
  try {
    oldest.outcome.wait();
    (void)run_.accepts(oldest.outcome.loss(), [&] { return cause_of_loss(); });
    swap_state();
    drop_oldest_state();
    run_.at = oldest.step.at;
    if (!is_newest) swap_state();  // the model is what it was after the step
    report_ahead(oldest);
  } catch (...) {
    forget_ahead();
    throw;
  }
  if (!was_asked && run_.control().should_stop()) return forget_ahead(), is_newest;
  if (!is_newest) swap_state();
  run_.at = newest;
  return true;
}

bool Loop::stops_before_error() {
  const bool was_asked = ahead_.empty() || run_.control().should_stop(), none_undone = settle();
  forget_ahead();  // with what was kept for the step that failed
  const bool stops = !was_asked && run_.control().should_stop();
  if (stops && none_undone) restore_model();
  else drop_saved_model();
  return stops;
}

void Loop::forget_ahead() {
  ahead_.clear();
  drop_states();
}

void Loop::report_ahead(const StepAhead& oldest) {
  {
    const NoGrad pause;
    oldest.outcome.add_to(train_metrics_);
  }
  run_.report(oldest.step, oldest.outcome.loss() * static_cast<double>(oldest.step.items));
}

}  // namespace kiln::training
