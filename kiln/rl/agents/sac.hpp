// Soft actor-critic with a learned temperature (Haarnoja et al., "Soft actor-critic algorithms and applications",
// 2018).
#pragma once
#include <utility>

#include "kiln/rl/agents/continuous.hpp"

namespace kiln::rl {

struct SacConfig {
  ContinuousConfig common{};
  std::optional<double> target_entropy{};  // the policy's target entropy; by default minus the numbers of an action
  double first_temperature = 1;            // the weight of the entropy at the start

  /// Throws ArgumentError.
  void check() const;
};

/// Actions in [-1, 1], and the logarithms of their densities, [n].
struct SquashedNormal {
  Tensor<2> actions;
  Tensor<1> log_probabilities;
};
/// Returns tanh of normal numbers: `output` [n, 2 k] of a network has the k means of an action, then the k logarithms
/// of the deviations, which are clamped to [-20, 2]; `noise` [n, k] is standard normal.
SquashedNormal squashed_normal(const Tensor<2>& output, const Tensor<2>& noise);

/// Returns reward + discount * (value - temperature * log probability), [n] each.
Tensor<1> sac_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<1>& next_values,
                     const Tensor<1>& next_log_probabilities, const Tensor<0>& temperature);

/// Returns the mean of temperature * log probability - value, [n] each: the actor's loss.
Tensor<0> sac_actor_loss(const Tensor<1>& log_probabilities, const Tensor<1>& values, const Tensor<0>& temperature);
/// Returns -logarithm of the temperature * the mean of (log probability + target entropy): its gradient raises the
/// temperature while the policy's entropy is below the target.
Tensor<0> sac_temperature_loss(const Tensor<0>& log_temperature, const Tensor<1>& log_probabilities,
                               double target_entropy);

template <Module Actor, Module Critic>
class Sac {
 public:
  /// The actor returns two numbers for each number of an action: see squashed_normal(). Throws ArgumentError for
  /// discrete actions, and for a network with another number of outputs.
  Sac(Actor actor, TwinCritic<Critic> critic, const SacConfig& config, const VectorEnvironment& worlds)
      : config_((config.check(), config)),
        data_("Sac", config.common, worlds),
        actor_(std::move(actor)),
        critic_(std::move(critic)),
        target_critic_(moved_towards(critic_, critic_, 1)),
        temperature_{nn::Param<0>(Tensor<0>::full({}, std::log(config.first_temperature), device_of(actor_)))},
        actor_adam_(AdamConfig{}.init(actor_)),
        critic_adam_(AdamConfig{}.init(critic_)),
        temperature_adam_(AdamConfig{}.init(temperature_)) {
    require_fitting("Sac", actor_, worlds, 2 * worlds.action_space().size(), "means and logarithms of deviations");
  }

  const Actor& policy() const { return actor_; }

  std::vector<float> act(const Actor& policy, const Tensor<2>& seen, Random& random, bool explores) const {
    if (explores && data_.warming_up()) return data_.random_actions(seen.dim(0), random);
    const auto size = static_cast<std::int64_t>(data_.bounds().half.size());
    const Tensor<2> output = policy.forward(seen);
    const Tensor<2> actions =
        explores ? squashed_normal(output, rows_of(normal_rows(seen.dim(0), size, random), seen.device())).actions
                 : output.narrow(1, 0, size).tanh();
    return data_.bounds().from_unit(actions.template to_vector<float>());
  }

  void observe(std::span<const float> seen, std::span<const float> actions, const VectorEnvironment& worlds) {
    data_.observe(seen, actions, worlds);
  }

  std::optional<Update> learn(Random& random) {
    if (!data_.take_due()) return std::nullopt;
    const Device device = device_of(actor_);
    const OffPolicyData::Batch batch = data_.sample(device, random);
    const auto normal = [&] {
      return rows_of(normal_rows(batch.actions.dim(0), batch.actions.dim(1), random), device);
    };
    const Tensor<0> temperature = temperature_.logarithm.detach().exp();
    const Tensor<1> target = [&] {
      const NoGrad pause;
      const SquashedNormal next = squashed_normal(actor_.forward(batch.next), normal());
      return sac_target(batch.rewards, batch.discounts, target_critic_.min_value(batch.next, next.actions),
                        next.log_probabilities, temperature);
    }();
    std::optional<Tensor<1>> errors;
    auto [loss, grads] = value_and_grad(critic_, [&](const TwinCritic<Critic>& model) {
      const auto values = model.forward(batch.seen, batch.actions);
      errors = (values.first - target).detach();
      return twin_loss(values, target, batch.weights);
    });
    critic_ = critic_adam_.step(config_.common.rate, std::move(critic_), grads);
    data_.set_errors(batch, *errors);

    const Tensor<2> noise = normal();
    std::optional<Tensor<1>> log_probabilities;
    const auto critic = freeze(critic_);  // its gradients are not needed here
    auto [actor_loss, actor_grads] = value_and_grad(actor_, [&](const Actor& model) {
      const SquashedNormal now = squashed_normal(model.forward(batch.seen), noise);
      log_probabilities = now.log_probabilities.detach();
      return sac_actor_loss(now.log_probabilities, critic.min_value(batch.seen, now.actions), temperature);
    });
    actor_ = actor_adam_.step(config_.common.rate, std::move(actor_), actor_grads);

    const double target_entropy = config_.target_entropy.value_or(-static_cast<double>(batch.actions.dim(1)));
    auto [temperature_loss, temperature_grads] = value_and_grad(temperature_, [&](const Temperature& model) {
      return sac_temperature_loss(model.logarithm, *log_probabilities, target_entropy);
    });
    temperature_ = temperature_adam_.step(config_.common.rate, std::move(temperature_), temperature_grads);
    target_critic_ = moved_towards(target_critic_, critic_, config_.common.tau);
    return Update{loss.item(), {{"temperature", temperature.item()}}};
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
  struct Temperature {
    nn::Param<0> logarithm;
  };
  template <class Self, class F>
  static void visit(Self& self, F&& f) {
    f(std::string("gathered"), self.data_);
    f(std::string("actor"), self.actor_);
    f(std::string("critic"), self.critic_);
    f(std::string("target_critic"), self.target_critic_);
    f(std::string("temperature"), self.temperature_);
    f(std::string("actor_optimizer"), self.actor_adam_);
    f(std::string("critic_optimizer"), self.critic_adam_);
    f(std::string("temperature_optimizer"), self.temperature_adam_);
  }

  SacConfig config_;
  OffPolicyData data_;
  Actor actor_;
  TwinCritic<Critic> critic_, target_critic_;
  Temperature temperature_;
  Adam actor_adam_, critic_adam_, temperature_adam_;
};

}  // namespace kiln::rl
