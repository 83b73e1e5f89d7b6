// Proximal policy optimisation (Schulman et al., "Proximal policy optimization algorithms", 2017), for discrete actions and
// boxes. With one epoch over the whole rollout and no bound on the ratio it is A2C (Mnih et al., "Asynchronous methods for
// deep reinforcement learning", 2016): PpoConfig::a2c().
#pragma once
#include <utility>

#include "kiln/data/permutation.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/rl/agents/parts.hpp"
#include "kiln/rl/rollout.hpp"

namespace kiln::rl {

/// A network that chooses actions, and one that estimates the values of states. The actor returns logits of discrete
/// actions. For a box it returns means, and `log_deviation` has the logarithms of the deviations, which are the same in
/// all states.
template <Module Net>
struct ActorCritic {
  Net actor, critic;             // [n, seen] -> [n, actions], [n, 1]
  nn::Param<1> log_deviation{};  // [numbers of an action], or absent for discrete actions

  Tensor<2> forward(const Tensor<2>& seen) const { return actor.forward(seen); }
};
/// Creates networks with the hidden layers of `config`; the environments determine `in`, `out` and `last_gain`.
ActorCritic<Mlp> actor_critic(const VectorEnvironment& worlds, const Device& device,
                              MlpConfig config = {.in = 1, .out = 1});

struct PpoConfig {
  RolloutConfig rollout{};
  double rate = 3e-4;              // the learning rate of Adam
  std::int64_t epochs = 10;        // passes over a rollout
  std::int64_t batch = 64;         // steps per update, 0: the whole rollout; a remainder is left out
  double clip = 0.2;               // the largest relative change of an action's probability; infinity: no bound
  double entropy = 0;              // weight of the policy's entropy
  double value = 0.5;              // weight of the critic's loss
  double max_gradient_norm = 0.5;  // the gradients' norm is clipped to this
  bool normalize = true;           // scale a batch's advantages to mean 0 and deviation 1

  /// Throws ArgumentError.
  void check() const;

  /// Returns A2C with its usual settings.
  static PpoConfig a2c();
};

/// The data of a batch, [n] each.
struct PpoBatch {
  Tensor<1> log_probabilities, old_log_probabilities, advantages, values, returns, entropies;
};
/// Returns the mean of -min(r A, clamp(r, 1 - clip, 1 + clip) A) + value * (value - return)^2 - entropy * entropy,
/// where r is the ratio of the new probability to the old one.
Tensor<0> ppo_loss(const PpoBatch& batch, const PpoConfig& config);

/// The logarithms of the probabilities of actions, and the entropies of the distributions, [n] each.
struct Likelihood {
  Tensor<1> log_probabilities, entropies;
};
Likelihood likelihood_of_choice(const Tensor<2>& logits, const Tensor<1, Int>& actions);
/// The actions are samples of independent normal distributions.
Likelihood likelihood_of_normal(const Tensor<2>& means, const Tensor<1>& log_deviation, const Tensor<2>& actions);

template <Module Net>
class Ppo {
 public:
  using Policy = ActorCritic<Net>;

  /// Throws ArgumentError for networks whose outputs do not fit the actions.
  Ppo(Policy policy, const PpoConfig& config, const VectorEnvironment& worlds)
      : config_((config.check(), config)),
        actions_(worlds.action_space()),
        policy_(std::move(policy)),
        adam_(AdamConfig{.epsilon = 1e-5}.init(policy_, {.clip = {.global_norm = config.max_gradient_norm}})),
        rollout_(config.rollout, worlds) {
    if (!actions_.is_discrete()) require_box("Ppo", actions_);
    require<ArgumentError>(actions_.is_discrete() || (!policy_.log_deviation.empty() &&
                                                      policy_.log_deviation.shape() == Shape{actions_.size()}),
                           "Ppo: log_deviation must have a number for each of ", actions_.size(), " of an action");
    if (actions_.is_discrete()) require_fitting("Ppo", policy_.actor, worlds, actions_.count(), "logits of actions");
    else require_fitting("Ppo", policy_.actor, worlds, actions_.size(), "means of actions");
    require_fitting("Ppo", policy_.critic, worlds, 1, "value");
  }

  const Policy& policy() const { return policy_; }

  /// Returns a sample of the policy if it explores, otherwise the most likely action, or the mean.
  std::vector<float> act(const Policy& policy, const Tensor<2>& seen, Random& random, bool explores) const {
    const Tensor<2> output = policy.forward(seen);
    if (actions_.is_discrete())
      return explores ? sampled_from(output, random) : output.argmax(1).template to_vector<float>();
    std::vector<float> actions = output.template to_vector<float>();
    if (explores) {
      const std::vector<float> deviations = policy.log_deviation.exp().template to_vector<float>();
      const TensorData noise = normal_rows(output.dim(0), output.dim(1), random);
      for (std::size_t i = 0; i < actions.size(); ++i)
        actions[i] += deviations[i % deviations.size()] * noise.as<float>()[i];
    }
    return actions;
  }
  /// Returns the actions for the environments, clamped to the bounds. The policy learns from the sampled actions.
  std::vector<float> applied(std::vector<float> actions) const { return bounded(std::move(actions), actions_); }

  void observe(std::span<const float> seen, std::span<const float> actions, const VectorEnvironment& worlds) {
    rollout_.add(seen, actions, worlds);
  }

  std::optional<Update> learn(Random& random) {
    if (!rollout_.full()) return std::nullopt;
    const Device device = device_of(policy_);
    const Experience all = rollout_.take([&](const TensorData& seen) {
      const NoGrad pause;
      return policy_.critic.forward(rows_of(seen, device)).template to_vector<float>();
    });
    const Tensor<2> seen = rows_of(all.observations, device), actions = rows_of(all.actions, device);
    const Tensor<1> advantages = column_of(all.advantages, device), returns = column_of(all.returns, device);
    const Tensor<1> before = [&] {
      const NoGrad pause;
      return likelihood(policy_, seen, actions).log_probabilities;
    }();
    const std::int64_t count = seen.dim(0), batch = config_.batch > 0 ? std::min(config_.batch, count) : count;
    double loss_sum = 0;
    std::int64_t updates = 0;
    for (std::int64_t pass = 0; pass < config_.epochs; ++pass) {
      const std::vector<std::int64_t> order = permutation(count, Key{random.word()});
      for (std::int64_t first = 0; first + batch <= count; first += batch, ++updates) {
        const Tensor<1, Int> part = Tensor<1, Int>::of(
            std::span(order).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(batch)), device);
        const auto take = [&](const auto& tensor) { return tensor.select(0, part); };
        auto [loss, grads] = value_and_grad(policy_, [&](const Policy& model) {
          const Tensor<2> states = take(seen);
          const Likelihood now = likelihood(model, states, take(actions));
          return ppo_loss({now.log_probabilities, take(before), take(advantages),
                           model.critic.forward(states).squeeze(1), take(returns), now.entropies},
                          config_);
        });
        policy_ = adam_.step(config_.rate, std::move(policy_), grads);
        loss_sum += loss.item();
      }
    }
    return Update{loss_sum / static_cast<double>(std::max<std::int64_t>(updates, 1)), {}};
  }
  double rate() const { return config_.rate; }

  /// Calls f(name, part) for each part of the agent's record.
  template <class F>
  void visit_state(F&& f) {
    visit(*this, f);
  }
  template <class F>
  void visit_state(F&& f) const {
    visit(*this, f);
  }

 private:
  template <class Self, class F>
  static void visit(Self& self, F&& f) {
    f(std::string("policy"), self.policy_);
    f(std::string("optimizer"), self.adam_);
    f(std::string("rollout"), self.rollout_);
  }
  Likelihood likelihood(const Policy& policy, const Tensor<2>& seen, const Tensor<2>& actions) const {
    const Tensor<2> output = policy.actor.forward(seen);
    return actions_.is_discrete() ? likelihood_of_choice(output, actions.squeeze(1).to_int())
                                  : likelihood_of_normal(output, policy.log_deviation, actions);
  }

  PpoConfig config_;
  Space actions_;
  Policy policy_;
  Adam adam_;
  Rollout rollout_;
};

}  // namespace kiln::rl
