#include "kiln/optim/rules/sgd.hpp"

namespace kiln {

std::span<const std::string_view> SgdConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"velocity"};
  return std::span(kNames).first(momentum != 0 ? 1 : 0);
}

void SgdConfig::check() const {
  rules::require_not_negative(kName,
                              {{"momentum", momentum}, {"dampening", dampening}, {"weight_decay", weight_decay}});
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
