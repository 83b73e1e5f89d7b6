#include "kiln/optim/rules/rmsprop.hpp"

namespace kiln {

std::span<const std::string_view> RmsPropConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"second_moment", "first_moment", "velocity"};
  return kNames;
}

Values RmsPropConfig::fresh_slots(const Value& param) const {
  const Value zero = zeros_like(param);
  return {zero, centered ? zero : Value(), momentum != 0 ? zero : Value()};
}

void RmsPropConfig::check() const {
  rules::require_shares(kName, {{"alpha", alpha}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}, {"momentum", momentum}});
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value RmsPropConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  const Value g = weight_decay != 0 ? grad + param * weight_decay : grad;
  Value &squares = state.slots[0], &average = state.slots[1], &velocity = state.slots[2];
  squares = rules::moving_average(squares, square(g), alpha);
  Value variance = squares;
  if (centered) {
    average = rules::moving_average(average, g, alpha);
    variance = maximum(squares - square(average), 0);  // rounding could make it slightly negative
  }
  const Value step = g / (sqrt(variance) + epsilon);
  if (momentum == 0) return param - step * rate;
  velocity = velocity * momentum + step;
  return param - velocity * rate;
}

}  // namespace kiln
