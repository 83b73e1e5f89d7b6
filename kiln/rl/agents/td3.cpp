#include "kiln/rl/agents/td3.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

void Td3Config::check() const {
  common.check("Td3Config");
  for (const double number : {noise, target_noise, target_noise_max})
    require<ArgumentError>(number >= 0 && std::isfinite(number), "Td3Config: a noise of ", number,
                           " must not be negative");
  require<ArgumentError>(policy_every >= 1, "Td3Config: policy_every = ", policy_every, " must be at least 1");
}

Tensor<2> td3_next_actions(const Tensor<2>& actions, const Tensor<2>& noise, const Td3Config& config) {
  const double most = config.target_noise_max;
  return (actions + (noise * config.target_noise).clamp(-most, most)).clamp(-1, 1);
}

Tensor<1> td3_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<1>& next_values) {
  return rewards + discounts * next_values;
}

}  // namespace kiln::rl
