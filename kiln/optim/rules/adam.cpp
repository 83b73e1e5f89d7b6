#include "kiln/optim/rules/adam.hpp"

#include <cmath>

namespace kiln {
namespace {

constexpr std::string_view kSlotNames[] = {"first_moment", "second_moment", "largest_second_moment"};

template <class Config>
std::span<const std::string_view> adam_slots(const Config& config) {
  return std::span(kSlotNames).first(config.amsgrad ? 3 : 2);
}

template <class Config>
void check_adam(const Config& config) {
  rules::require_shares(Config::kName, {{"beta1", config.beta1}, {"beta2", config.beta2}});
  rules::require_not_negative(Config::kName, {{"weight_decay", config.weight_decay}});
  rules::require_positive(Config::kName, {{"epsilon", config.epsilon}});
}

/// rate * m' / (sqrt(v') + epsilon) with m' = m / (1 - beta1^t), v' = v / (1 - beta2^t). The corrections are applied to
/// numbers rather than tensors, which saves a pass over memory.
template <class Config>
Value adam_step(const Config& config, const Value& grad, double rate, ParamState& state) {
  Value &m = state.slots[0], &v = state.slots[1];
  const double t = static_cast<double>(state.steps + 1);
  const double correction1 = 1 - std::pow(config.beta1, t), correction2 = std::sqrt(1 - std::pow(config.beta2, t));
  m = rules::moving_average(m, grad, config.beta1);
  v = rules::moving_average(v, square(grad), config.beta2);
  if (config.amsgrad) state.slots[2] = maximum(state.slots[2], v);
  const Value& scale = config.amsgrad ? state.slots[2] : v;
  return m * (rate * correction2 / correction1) / (sqrt(scale) + config.epsilon * correction2);
}

}  // namespace

std::span<const std::string_view> AdamConfig::slot_names() const { return adam_slots(*this); }
std::span<const std::string_view> AdamWConfig::slot_names() const { return adam_slots(*this); }
void AdamConfig::check() const { check_adam(*this); }
void AdamWConfig::check() const { check_adam(*this); }

Value AdamConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  return param - adam_step(*this, weight_decay != 0 ? grad + param * weight_decay : grad, rate, state);
}

Value AdamWConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value step = adam_step(*this, grad, rate, state);
  if (cautious) {
    const Value agrees = cast(gt(step * grad, 0), param.dtype());
    step = step * agrees / maximum(mean(agrees), 1e-3);  // the least divisor of the paper's program
  }
  if (weight_decay == 0) return param - step;
  if (cautious_decay) return where(ge(step * param, 0), param * (1 - rate * weight_decay), param) - step;
  return param * (1 - rate * weight_decay) - step;
}

}  // namespace kiln
