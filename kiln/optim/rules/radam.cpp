#include "kiln/optim/rules/radam.hpp"

#include <cmath>

namespace kiln {

std::span<const std::string_view> RAdamConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"first_moment", "second_moment"};
  return kNames;
}

void RAdamConfig::check() const {
  rules::require_shares(kName, {{"beta1", beta1}, {"beta2", beta2}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}});
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value RAdamConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value &m = state.slots[0], &v = state.slots[1];
  const double t = static_cast<double>(state.steps + 1);
  const Value g = weight_decay != 0 && !decoupled ? grad + param * weight_decay : grad;
  m = rules::moving_average(m, g, beta1);
  v = rules::moving_average(v, square(g), beta2);
  const double share = std::pow(beta2, t), rate1 = rate / (1 - std::pow(beta1, t));
  // The length of the average, in steps.
  const double most = 2 / (1 - beta2) - 1, length = most - 2 * t * share / (1 - share);
  const Value start = weight_decay != 0 && decoupled ? param * (1 - rate * weight_decay) : param;
  if (length <= 5) return start - m * rate1;
  const double correction =
      std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) * std::sqrt(1 - share);
  return start - m * (rate1 * correction) / (sqrt(v) + epsilon);
}

}  // namespace kiln
