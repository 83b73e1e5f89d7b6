#include "kiln/optim/adam.hpp"

#include <cmath>

namespace kiln {
namespace {

constexpr std::string_view kSlotNames[] = {"first_moment", "second_moment"};

template <class Config>
void check_adam(const Config& config) {
  const auto is_share = [](double beta) { return beta >= 0 && beta < 1; };
  require<ArgumentError>(is_share(config.beta1) && is_share(config.beta2), Config::kName,
                         "Config: beta1 = ", config.beta1, " and beta2 = ", config.beta2, " must lie in [0, 1)");
  require<ArgumentError>(config.epsilon >= 0 && config.weight_decay >= 0, Config::kName,
                         "Config: epsilon = ", config.epsilon, " and weight_decay = ", config.weight_decay,
                         " must not be negative");
}

/// rate * m' / (sqrt(v') + epsilon) with m' = m / (1 - beta1^t), v' = v / (1 - beta2^t). The corrections are moved out
/// of the tensors: this takes one pass over memory less.
template <class Config>
Value adam_step(const Config& config, const Value& grad, double rate, ParamState& state) {
  Value &m = state.slots[0], &v = state.slots[1];
  const double t = static_cast<double>(state.steps + 1);
  const double correction1 = 1 - std::pow(config.beta1, t), correction2 = std::sqrt(1 - std::pow(config.beta2, t));
  m = m * config.beta1 + grad * (1 - config.beta1);
  v = v * config.beta2 + square(grad) * (1 - config.beta2);
  return m * (rate * correction2 / correction1) / (sqrt(v) + config.epsilon * correction2);
}

}  // namespace

std::span<const std::string_view> AdamConfig::slot_names() const { return kSlotNames; }
std::span<const std::string_view> AdamWConfig::slot_names() const { return kSlotNames; }
void AdamConfig::check() const { check_adam(*this); }
void AdamWConfig::check() const { check_adam(*this); }

Value AdamConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  return param - adam_step(*this, weight_decay != 0 ? grad + param * weight_decay : grad, rate, state);
}

Value AdamWConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  const Value decayed = weight_decay != 0 ? param * (1 - rate * weight_decay) : param;
  return decayed - adam_step(*this, grad, rate, state);
}

}  // namespace kiln
