#include "kiln/train/early_stopping.hpp"

#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln {

namespace {

void stop_if_over(const EarlyStopping& rule, Interrupter& control) {
  const EarlyStopping::State& state = rule.state;
  if (state.met) control.stop(text(rule.split, ' ', rule.metric, " is what was asked for"));
  if (state.worse > 0 && state.worse >= rule.patience)
    control.stop(text(rule.split, ' ', rule.metric, " has not been better than ", state.best, " for ", state.worse,
                      " evaluations"));
}

}  // namespace

void EarlyStopping::check() const {
  const auto not_negative = [](std::string_view name, auto value) {
    require<ArgumentError>(value >= 0, "EarlyStopping: ", name, " = ", value, " must not be negative");
  };
  not_negative("patience", patience);
  not_negative("warmup", warmup);
  not_negative("least_change", least_change);
  require<ArgumentError>(std::isfinite(least_change), "EarlyStopping: least_change = ", least_change,
                         " must be finite");
}

void EarlyStopping::on(const training::Begin& begin, Interrupter& control) {
  check();
  require_measured("early stopping", begin, split, metric);
  stop_if_over(*this, control);
}

void EarlyStopping::on(const training::Evaluation& evaluation, Interrupter& control) {
  if (!evaluation.complete || evaluation.split != split) return;
  const double value = evaluation.number("early stopping", metric);
  state.met = state.met || (when && when(value));
  if (++state.seen > warmup) {
    const bool first = state.seen == warmup + 1 || std::isnan(state.best);
    const bool better = rising ? value > state.best + least_change : value < state.best - least_change;
    if (first || better) state.best = value;
    state.worse = first || better ? 0 : state.worse + 1;
  }
  stop_if_over(*this, control);
}

}  // namespace kiln
