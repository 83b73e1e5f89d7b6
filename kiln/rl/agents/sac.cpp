#include "kiln/rl/agents/sac.hpp"

#include <numbers>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

void SacConfig::check() const {
  common.check("SacConfig");
  require<ArgumentError>(first_temperature > 0 && std::isfinite(first_temperature),
                         "SacConfig: first_temperature = ", first_temperature, " must be positive");
  require<ArgumentError>(!target_entropy || std::isfinite(*target_entropy), "SacConfig: target_entropy must be finite");
}

SquashedNormal squashed_normal(const Tensor<2>& output, const Tensor<2>& noise) {
  const std::int64_t size = noise.dim(1);
  const Tensor<2> mean = output.narrow(1, 0, size), log_deviation = output.narrow(1, size, size).clamp(-20, 2);
  const Tensor<2> sample = mean + noise * log_deviation.exp();
  // log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2 u)), which is finite for any u.
  const Tensor<2> log_slope = (sample * -1 - (sample * -2).softplus() + std::numbers::ln2) * 2;
  const Tensor<2> density = noise.square() * -0.5 - log_deviation - std::log(2 * std::numbers::pi) / 2;
  return {sample.tanh(), (density - log_slope).sum(1)};
}

Tensor<1> sac_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<1>& next_values,
                     const Tensor<1>& next_log_probabilities, const Tensor<0>& temperature) {
  return rewards + discounts * (next_values - next_log_probabilities * temperature);
}

Tensor<0> sac_actor_loss(const Tensor<1>& log_probabilities, const Tensor<1>& values, const Tensor<0>& temperature) {
  return (log_probabilities * temperature - values).mean();
}

Tensor<0> sac_temperature_loss(const Tensor<0>& log_temperature, const Tensor<1>& log_probabilities,
                               double target_entropy) {
  return -(log_temperature * (log_probabilities + target_entropy).mean());
}

}  // namespace kiln::rl
