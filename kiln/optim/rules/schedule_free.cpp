#include "kiln/optim/rules/schedule_free.hpp"

#include <algorithm>
#include <cmath>

namespace kiln {

std::span<const std::string_view> ScheduleFreeAdamWConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"base", "second_moment"};  // the paper's z, and v
  return kNames;
}

void ScheduleFreeAdamWConfig::check() const {
  rules::require_shares(kName, {{"beta1", beta1}, {"beta2", beta2}});
  require<ArgumentError>(beta1 > 0, "ScheduleFreeAdamWConfig: beta1 = 0 leaves no average");
  rules::require_not_negative(kName,
                              {{"weight_decay", weight_decay}, {"step_power", step_power}, {"rate_power", rate_power}});
  require<ArgumentError>(warmup >= 0, "ScheduleFreeAdamWConfig: warmup = ", warmup, " must not be negative");
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value ScheduleFreeAdamWConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value &base = state.slots[0], &v = state.slots[1];
  double &weight_sum = state.numbers[0], &largest = state.numbers[1];
  const double t = static_cast<double>(state.steps + 1);
  const double now = state.steps < warmup ? rate * t / static_cast<double>(warmup) : rate;
  largest = std::max(largest, now);
  const double weight = std::pow(t, step_power) * std::pow(largest, rate_power);
  weight_sum += weight;
  const double share = weight_sum > 0 ? weight / weight_sum : 0;

  const Value z = state.steps == 0 ? param : base;
  v = rules::moving_average(v, square(grad), beta2);
  const Value adam = grad / (sqrt(v * (1 / (1 - std::pow(beta2, t)))) + epsilon);
  const Value step = weight_decay != 0 ? adam + param * weight_decay : adam;
  base = z - step * now;
  return param * (1 - share) + z * share - step * (now * (1 - beta1 * (1 - share)));
}

Value ScheduleFreeAdamWConfig::averaged(const Value& param, const ParamState& state) const {
  return param * (1 / beta1) + state.slots[0] * (1 - 1 / beta1);
}

}  // namespace kiln
