#include "kiln/rl/agents/ppo.hpp"

#include <limits>
#include <numbers>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

void PpoConfig::check() const {
  rollout.check();
  require<ArgumentError>(rate > 0 && std::isfinite(rate), "PpoConfig: rate = ", rate, " must be positive");
  require<ArgumentError>(epochs >= 1, "PpoConfig: epochs = ", epochs, " must be at least 1");
  require<ArgumentError>(batch >= 0, "PpoConfig: batch = ", batch, " must not be negative");
  require<ArgumentError>(clip > 0, "PpoConfig: clip = ", clip, " must be positive");
  require<ArgumentError>(entropy >= 0 && value >= 0 && std::isfinite(entropy) && std::isfinite(value),
                         "PpoConfig: entropy = ", entropy, " and value = ", value, " must not be negative");
  require<ArgumentError>(max_gradient_norm > 0, "PpoConfig: max_gradient_norm = ", max_gradient_norm,
                         " must be positive");
}

PpoConfig PpoConfig::a2c() {
  return {.rollout = {.steps = 5, .lambda = 1},
          .rate = 7e-4,
          .epochs = 1,
          .batch = 0,
          .clip = std::numeric_limits<double>::infinity(),
          .normalize = false};
}

ActorCritic<Mlp> actor_critic(const VectorEnvironment& worlds, const Device& device, MlpConfig config) {
  const Space& actions = worlds.action_space();
  config.in = worlds.observation_space().size();
  config.out = actions.is_discrete() ? actions.count() : actions.size();
  config.last_gain = 0.01;
  Mlp actor = config.init(device);
  config.out = 1;
  config.last_gain = 1;
  ActorCritic<Mlp> both{std::move(actor), config.init(device)};
  if (!actions.is_discrete()) both.log_deviation = nn::Param<1>(zeros({actions.size()}, device));
  return both;
}

Likelihood likelihood_of_choice(const Tensor<2>& logits, const Tensor<1, Int>& actions) {
  const Tensor<2> log_probabilities = logits.log_softmax(1);
  return {chosen(log_probabilities, actions), -(log_probabilities.exp() * log_probabilities).sum(1)};
}

Likelihood likelihood_of_normal(const Tensor<2>& means, const Tensor<1>& log_deviation, const Tensor<2>& actions) {
  const double log_two_pi = std::log(2 * std::numbers::pi);
  const Tensor<2> scaled = (actions - means) / log_deviation.exp();
  const Tensor<1> log_probabilities = (scaled.square() * -0.5 - log_deviation - log_two_pi / 2).sum(1);
  // The entropy is the same in all states.
  const Tensor<0> entropy = (log_deviation + (log_two_pi + 1) / 2).sum();
  return {log_probabilities, entropy.unsqueeze(0).expand(means.dim(0))};
}

Tensor<0> ppo_loss(const PpoBatch& batch, const PpoConfig& config) {
  Tensor<1> advantages = batch.advantages;
  if (config.normalize && advantages.dim(0) > 1)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8);
  const Tensor<1> ratio = (batch.log_probabilities - batch.old_log_probabilities).exp();
  const Tensor<1> plain = ratio * advantages;
  const Tensor<1> gain =
      std::isinf(config.clip) ? plain : minimum(plain, ratio.clamp(1 - config.clip, 1 + config.clip) * advantages);
  return -gain.mean() + (batch.values - batch.returns).square().mean() * config.value -
         batch.entropies.mean() * config.entropy;
}

}  // namespace kiln::rl
