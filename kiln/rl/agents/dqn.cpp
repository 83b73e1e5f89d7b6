#include "kiln/rl/agents/dqn.hpp"

#include "kiln/core/error/error.hpp"

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
  for (const double share : {explore_first, explore_last})
    require<ArgumentError>(0 <= share && share <= 1, "DqnConfig: explores with a share of ", share, ": must be 0 to 1");
  require<ArgumentError>(explore_steps >= 1, "DqnConfig: explore_steps = ", explore_steps, " must be at least 1");
  require<ArgumentError>(largest_gradient > 0, "DqnConfig: largest_gradient = ", largest_gradient, " must be positive");
}

Tensor<1> dqn_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<2>& next_online,
                     const Tensor<2>& next_target, bool twice) {
  const Tensor<1> value = chosen(next_target, (twice ? next_online : next_target).argmax(1));
  return rewards + discounts * value;
}

}  // namespace kiln::rl
