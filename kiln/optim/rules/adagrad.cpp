#include "kiln/optim/rules/adagrad.hpp"

namespace kiln {

std::span<const std::string_view> AdaGradConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"square_sum"};
  return kNames;
}

Values AdaGradConfig::fresh_slots(const Value& param) const {
  return {full(param.shape(), initial, param.device(), param.dtype())};
}

void AdaGradConfig::check() const {
  rules::require_not_negative(kName,
                              {{"rate_decay", rate_decay}, {"weight_decay", weight_decay}, {"initial", initial}});
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value AdaGradConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  const Value g = weight_decay != 0 ? grad + param * weight_decay : grad;
  Value& squares = state.slots[0];
  squares = squares + square(g);
  return param - g * (rate / (1 + rate_decay * static_cast<double>(state.steps))) / (sqrt(squares) + epsilon);
}

}  // namespace kiln
