#include "kiln/optim/rules/lion.hpp"

namespace kiln {

std::span<const std::string_view> LionConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"first_moment"};
  return kNames;
}

void LionConfig::check() const {
  rules::require_shares(kName, {{"beta1", beta1}, {"beta2", beta2}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}});
}

Value LionConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value& m = state.slots[0];
  const Value change = grad - m;  // both averages share it, so that they are computed in one pass
  const Value step = sign(m + change * (1 - beta1)) * rate;
  m = m + change * (1 - beta2);
  return (weight_decay != 0 ? param * (1 - rate * weight_decay) : param) - step;
}

}  // namespace kiln
