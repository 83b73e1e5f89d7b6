// Twin delayed deterministic policy gradients (Fujimoto, van Hoof, Meger, "Addressing function approximation error in
// actor-critic methods", 2018).
#pragma once
#include <utility>

#include "kiln/rl/agents/continuous.hpp"

namespace kiln::rl {

struct Td3Config {
  ContinuousConfig common{.rate = 1e-3};
  double noise = 0.1;             // the deviation of the exploration noise, which is added to actions in [-1, 1]
  double target_noise = 0.2;      // the deviation of the noise that is added to the next action of a target
  double target_noise_max = 0.5;  // the target noise is clamped to +-target_noise_max
  std::int64_t policy_every = 2;  // updates of the critics per update of the policy

  /// Throws ArgumentError.
  void check() const;
};

/// Returns the next actions of a target, in [-1, 1]: those of the target policy with noise, which smooths the target.
/// `noise` is standard normal, [n, numbers of an action] like `actions`.
Tensor<2> td3_next_actions(const Tensor<2>& actions, const Tensor<2>& noise, const Td3Config& config);
/// Returns reward + discount * next value, [n] each; the next value is the lower one of both critics.
Tensor<1> td3_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<1>& next_values);

template <Module Actor, Module Critic>
class Td3 {
 public:
  /// The actor returns one number for each number of an action; tanh maps it to [-1, 1], which is then scaled to the
  /// bounds of actions. Throws ArgumentError for discrete actions, and for a network with another number of outputs.
  Td3(Actor actor, TwinCritic<Critic> critic, const Td3Config& config, const VectorEnvironment& worlds)
      : config_((config.check(), config)),
        data_("Td3", config.common, worlds),
        actor_(std::move(actor)),
        target_actor_(moved_towards(actor_, actor_, 1)),
        critic_(std::move(critic)),
        target_critic_(moved_towards(critic_, critic_, 1)),
        actor_adam_(AdamConfig{}.init(actor_)),
        critic_adam_(AdamConfig{}.init(critic_)) {
    require_fitting("Td3", actor_, worlds, worlds.action_space().size(), "numbers of an action");
  }

  const Actor& policy() const { return actor_; }

  std::vector<float> act(const Actor& policy, const Tensor<2>& seen, Random& random, bool explores) const {
    if (explores && data_.warming_up()) return data_.random_actions(seen.dim(0), random);
    const Tensor<2> output = policy.forward(seen);
    std::vector<float> actions = output.tanh().template to_vector<float>();
    if (explores) {
      const TensorData noise = normal_rows(output.dim(0), output.dim(1), random);
      for (std::size_t i = 0; i < actions.size(); ++i)
        actions[i] = std::clamp(actions[i] + static_cast<float>(config_.noise) * noise.as<float>()[i], -1.0f, 1.0f);
    }
    return data_.bounds().from_unit(std::move(actions));
  }

  void observe(std::span<const float> seen, std::span<const float> actions, const VectorEnvironment& worlds) {
    data_.observe(seen, actions, worlds);
  }

  std::optional<Update> learn(Random& random) {
    if (!data_.take_due()) return std::nullopt;
    const Device device = device_of(actor_);
    const OffPolicyData::Batch batch = data_.sample(device, random);
    const Tensor<1> target = [&] {
      const NoGrad pause;
      const Tensor<2> noise = rows_of(normal_rows(batch.actions.dim(0), batch.actions.dim(1), random), device);
      const Tensor<2> next = td3_next_actions(target_actor_.forward(batch.next).tanh(), noise, config_);
      return td3_target(batch.rewards, batch.discounts, target_critic_.min_value(batch.next, next));
    }();
    std::optional<Tensor<1>> errors;
    auto [loss, grads] = value_and_grad(critic_, [&](const TwinCritic<Critic>& model) {
      const auto values = model.forward(batch.seen, batch.actions);
      errors = (values.first - target).detach();
      return twin_loss(values, target, batch.weights);
    });
    critic_ = critic_adam_.step(config_.common.rate, std::move(critic_), grads);
    data_.set_errors(batch, *errors);
    if (++updates_ % config_.policy_every == 0) {
      const auto critic = freeze(critic_);  // its gradients are not needed here
      auto [actor_loss, actor_grads] = value_and_grad(actor_, [&](const Actor& model) {
        return -critic.forward(batch.seen, model.forward(batch.seen).tanh()).first.mean();
      });
      actor_ = actor_adam_.step(config_.common.rate, std::move(actor_), actor_grads);
      target_actor_ = moved_towards(target_actor_, actor_, config_.common.tau);
      target_critic_ = moved_towards(target_critic_, critic_, config_.common.tau);
    }
    return Update{loss.item(), {}};
  }
  double rate() const { return config_.common.rate; }

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
    f(std::string("gathered"), self.data_);
    f(std::string("actor"), self.actor_);
    f(std::string("target_actor"), self.target_actor_);
    f(std::string("critic"), self.critic_);
    f(std::string("target_critic"), self.target_critic_);
    f(std::string("actor_optimizer"), self.actor_adam_);
    f(std::string("critic_optimizer"), self.critic_adam_);
    f(std::string("updates"), self.updates_);
  }

  Td3Config config_;
  OffPolicyData data_;
  Actor actor_, target_actor_;
  TwinCritic<Critic> critic_, target_critic_;
  Adam actor_adam_, critic_adam_;
  std::int64_t updates_ = 0;
};

}  // namespace kiln::rl
