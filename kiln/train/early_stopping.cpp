#include "kiln/train/early_stopping.hpp"

#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln {

void EarlyStopping::on(const training::Evaluation& evaluation, Interrupter& control) {
  if (!evaluation.complete || evaluation.split != split) return;
  const Reading* const reading = evaluation.find(metric);
  require<ArgumentError>(reading, "early stopping: the evaluation '", split, "' has no metric '", metric, '\'');
  const double value = reading->value;
  if (when && when(value)) control.stop(text(split, ' ', metric, " is ", value));
  if (++state.seen <= warmup) return;
  const bool first = state.seen == warmup + 1 || std::isnan(state.best);
  if (first || (rising ? value > state.best + least_change : value < state.best - least_change)) {
    state.best = value;
    state.worse = 0;
  } else if (++state.worse >= patience) {
    control.stop(
        text(split, ' ', metric, " has not been better than ", state.best, " for ", state.worse, " evaluations"));
  }
}

}  // namespace kiln
