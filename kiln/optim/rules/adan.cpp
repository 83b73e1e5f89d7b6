#include "kiln/optim/rules/adan.hpp"

#include <cmath>

namespace kiln {

std::span<const std::string_view> AdanConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"first_moment", "difference_moment", "second_moment",
                                                "previous_gradient"};
  return kNames;
}

void AdanConfig::check() const {
  rules::require_shares(kName, {{"beta1", beta1}, {"beta2", beta2}, {"beta3", beta3}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}});
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value AdanConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value &m = state.slots[0], &d = state.slots[1], &n = state.slots[2], &previous = state.slots[3];
  const double t = static_cast<double>(state.steps + 1);
  const double correction1 = 1 - std::pow(beta1, t), correction2 = 1 - std::pow(beta2, t),
               correction3 = std::sqrt(1 - std::pow(beta3, t));
  const Value difference = state.steps == 0 ? zeros_like(grad) : grad - previous;
  m = rules::moving_average(m, grad, beta1);
  d = rules::moving_average(d, difference, beta2);
  n = rules::moving_average(n, square(grad + difference * beta2), beta3);
  previous = grad;
  const Value step =
      (m * (rate / correction1) + d * (rate * beta2 / correction2)) / (sqrt(n) * (1 / correction3) + epsilon);
  if (weight_decay == 0) return param - step;
  return proximal ? (param - step) * (1 / (1 + rate * weight_decay)) : param * (1 - rate * weight_decay) - step;
}

}  // namespace kiln
