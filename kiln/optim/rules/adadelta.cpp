#include "kiln/optim/rules/adadelta.hpp"

namespace kiln {

std::span<const std::string_view> AdaDeltaConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"second_moment", "step_second_moment"};
  return kNames;
}

void AdaDeltaConfig::check() const {
  rules::require_shares(kName, {{"rho", rho}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}});
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value AdaDeltaConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  const Value g = weight_decay != 0 ? grad + param * weight_decay : grad;
  Value &squares = state.slots[0], &steps = state.slots[1];
  squares = rules::moving_average(squares, square(g), rho);
  const Value step = sqrt(steps + epsilon) / sqrt(squares + epsilon) * g;
  steps = rules::moving_average(steps, square(step), rho);
  return param - step * rate;
}

}  // namespace kiln
