#include "kiln/rl/agents/dqn.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/tensor/loss.hpp"

namespace kiln::rl {

void DqnConfig::check() const {
  replay.check();
  require<ArgumentError>(rate > 0 && std::isfinite(rate), "DqnConfig: rate = ", rate, " must be positive");
  require<ArgumentError>(batch >= 1, "DqnConfig: batch = ", batch, " must be at least 1");
  require<ArgumentError>(1 <= warm_up && warm_up <= replay.capacity, "DqnConfig: warm_up = ", warm_up,
                         " must be 1 to the buffer's capacity, ", replay.capacity);
  require<ArgumentError>(steps_per_update >= 1, "DqnConfig: steps_per_update = ", steps_per_update,
                         " must be at least 1");
  require<ArgumentError>(target_every >= 1, "DqnConfig: target_every = ", target_every, " must be at least 1");
  for (const double share : {epsilon_start, epsilon_end})
    require<ArgumentError>(0 <= share && share <= 1, "DqnConfig: a share of random actions, ", share,
                           ", must be 0 to 1");
  require<ArgumentError>(epsilon_steps >= 1, "DqnConfig: epsilon_steps = ", epsilon_steps, " must be at least 1");
  require<ArgumentError>(max_gradient_norm > 0, "DqnConfig: max_gradient_norm = ", max_gradient_norm,
                         " must be positive");
}

Tensor<1> dqn_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<2>& next_online,
                     const Tensor<2>& next_target, bool double_q) {
  const Tensor<1> value = chosen(next_target, (double_q ? next_online : next_target).argmax(1));
  return rewards + discounts * value;
}

Tensor<0> dqn_loss(const Tensor<1>& values, const Tensor<1>& target, const Tensor<1>& weights) {
  return (huber_loss<Reduction::None>(values, target, 1.0) * weights).mean();
}

}  // namespace kiln::rl
