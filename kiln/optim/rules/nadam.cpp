#include "kiln/optim/rules/nadam.hpp"

#include <cmath>

namespace kiln {

std::span<const std::string_view> NAdamConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"first_moment", "second_moment"};
  return kNames;
}

void NAdamConfig::check() const {
  rules::require_shares(kName, {{"beta1", beta1}, {"beta2", beta2}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}, {"momentum_decay", momentum_decay}});
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value NAdamConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value &m = state.slots[0], &v = state.slots[1];
  double& product = state.numbers[0];
  const double t = static_cast<double>(state.steps + 1);
  const auto momentum = [&](double step) { return beta1 * (1 - 0.5 * std::pow(0.96, step * momentum_decay)); };
  product = (state.steps == 0 ? 1 : product) * momentum(t);
  const Value g = weight_decay != 0 && !decoupled ? grad + param * weight_decay : grad;
  m = rules::moving_average(m, g, beta1);
  v = rules::moving_average(v, square(g), beta2);
  const double of_grad = rate * (1 - momentum(t)) / (1 - product);
  const double of_moment = rate * momentum(t + 1) / (1 - product * momentum(t + 1));
  const Value step = (g * of_grad + m * of_moment) / (sqrt(v * (1 / (1 - std::pow(beta2, t)))) + epsilon);
  return (weight_decay != 0 && decoupled ? param * (1 - rate * weight_decay) : param) - step;
}

}  // namespace kiln
