#include "kiln/optim/sgd.hpp"

namespace kiln {

std::span<const std::string_view> SgdConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"velocity"};
  return std::span(kNames).first(momentum != 0 ? 1 : 0);
}

void SgdConfig::check() const {
  require<ArgumentError>(momentum >= 0 && weight_decay >= 0, "SgdConfig: momentum = ", momentum,
                         " and weight_decay = ", weight_decay, " must not be negative");
  require<ArgumentError>(!nesterov || (momentum > 0 && dampening == 0),
                         "SgdConfig: Nesterov's form needs a momentum and no dampening");
}

Value SgdConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value g = weight_decay != 0 ? grad + param * weight_decay : grad;
  if (momentum != 0) {
    Value& velocity = state.slots[0];
    velocity = state.steps == 0 ? g : velocity * momentum + g * (1 - dampening);
    g = nesterov ? g + velocity * momentum : velocity;
  }
  return param - g * rate;
}

}  // namespace kiln
