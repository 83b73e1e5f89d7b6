#include "kiln/optim/rules/lamb.hpp"

#include <cmath>

namespace kiln {

std::span<const std::string_view> LambConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"first_moment", "second_moment"};
  return kNames;
}

void LambConfig::check() const {
  rules::require_shares(kName, {{"beta1", beta1}, {"beta2", beta2}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}});
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value LambConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value &m = state.slots[0], &v = state.slots[1];
  const double t = static_cast<double>(state.steps + 1);
  m = rules::moving_average(m, grad, beta1);
  v = rules::moving_average(v, square(grad), beta2);
  const Value adam = m * (1 / (1 - std::pow(beta1, t))) / (sqrt(v * (1 / (1 - std::pow(beta2, t)))) + epsilon);
  const Value step = weight_decay != 0 ? adam + param * weight_decay : adam;
  const Value length = rules::norm(param), step_length = rules::norm(step);
  const Value trust = where(logical_and(ne(length, 0), ne(step_length, 0)), length / step_length, 1.0);
  return param - step * (trust * rate);
}

}  // namespace kiln
