#include <numbers>

#include "kiln/core/error/error.hpp"
#include "kiln/rl/agents/sac.hpp"
#include "kiln/rl/agents/td3.hpp"

namespace kiln::rl {

void Td3Config::check() const {
  common.check("Td3Config");
  for (const double number : {noise, target_noise, target_noise_max})
    require<ArgumentError>(number >= 0 && std::isfinite(number), "Td3Config: a noise of ", number,
                           " must not be negative");
  require<ArgumentError>(policy_every >= 1, "Td3Config: policy_every = ", policy_every, " must be at least 1");
}

void SacConfig::check() const {
  common.check("SacConfig");
  require<ArgumentError>(first_temperature > 0 && std::isfinite(first_temperature),
                         "SacConfig: first_temperature = ", first_temperature, " must be positive");
  require<ArgumentError>(!target_entropy || std::isfinite(*target_entropy), "SacConfig: target_entropy must be finite");
}

Tensor<1> td3_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<1>& next_values) {
  return rewards + discounts * next_values;
}

SquashedNormal squashed_normal(const Tensor<2>& said, const Tensor<2>& noise) {
  const std::int64_t size = noise.dim(1);
  const Tensor<2> mean = said.narrow(1, 0, size), log_deviation = said.narrow(1, size, size).clamp(-20, 2);
  const Tensor<2> plain = mean + noise * log_deviation.exp();
  // log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2 u)), which does not vanish for large u.
  const Tensor<2> squeeze = (plain * -1 - (plain * -2).softplus() + std::numbers::ln2) * 2;
  const Tensor<2> density = noise.square() * -0.5 - log_deviation - std::log(2 * std::numbers::pi) / 2;
  return {plain.tanh(), (density - squeeze).sum(1)};
}

Tensor<1> sac_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<1>& next_values,
                     const Tensor<1>& next_log_probabilities, const Tensor<0>& temperature) {
  return rewards + discounts * (next_values - next_log_probabilities * temperature);
}

}  // namespace kiln::rl
