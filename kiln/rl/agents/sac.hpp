// Soft actor-critic with a temperature that finds itself (Haarnoja et al., "Soft actor-critic algorithms and applications",
// 2018).
#pragma once
#include <utility>

#include "kiln/rl/agents/continuous.hpp"

namespace kiln::rl {

struct SacConfig {
  ContinuousConfig common{};
  std::optional<double> target_entropy{};  // of the policy; minus the numbers of an action where nothing is said
  double first_temperature = 1;            // what entropy is worth at the start

  /// Throws ArgumentError.
  void check() const;
};

/// Actions of [-1, 1], and the logarithms of their densities, [n].
struct SquashedNormal {
  Tensor<2> actions;
  Tensor<1> log_probabilities;
};
/// tanh of normal numbers: of each action's number `said` [n, 2 k] has the mean and, after all of those, the logarithm of
/// the deviation, held to [-20, 2]; `noise` [n, k] is standard normal.
SquashedNormal squashed_normal(const Tensor<2>& said, const Tensor<2>& noise);

/// reward + discount * (value - temperature * log probability), [n] each.
Tensor<1> sac_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<1>& next_values,
                     const Tensor<1>& next_log_probabilities, const Tensor<0>& temperature);

template <Module Actor, Module Critic>
class Sac {
 public:
  /// The actor gives two numbers for each of an action: see squashed_normal(). Throws ArgumentError for other
  /// actions, and for a network of other outputs.
  Sac(Actor actor, TwinCritic<Critic> critic, const SacConfig& config, const VectorEnvironment& worlds)
      : config_((config.check(), config)),
        gathered_("Sac", config.common, worlds),
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

  std::vector<float> act(const Actor& policy, const Tensor<2>& seen, Draws& draws, bool explores) const {
    if (explores && gathered_.warming_up()) return gathered_.random_actions(seen.dim(0), draws);
    const auto size = static_cast<std::int64_t>(gathered_.bounds().half.size());
    const Tensor<2> said = policy.forward(seen);
    const Tensor<2> actions =
        explores ? squashed_normal(said, rows_of(normal_rows(seen.dim(0), size, draws), seen.device())).actions
                 : said.narrow(1, 0, size).tanh();
    return gathered_.bounds().from_unit(actions.template to_vector<float>());
  }

  void observe(std::span<const float> seen, std::span<const float> actions, const VectorEnvironment& worlds) {
    gathered_.observe(seen, actions, worlds);
  }

  std::optional<Update> learn(Draws& draws) {
    if (!gathered_.take_due()) return std::nullopt;
    const Device device = device_of(actor_);
    const Gathered::Batch batch = gathered_.sample(device, draws);
    const auto drawn = [&] { return rows_of(normal_rows(batch.actions.dim(0), batch.actions.dim(1), draws), device); };
    const Tensor<0> temperature = temperature_.logarithm.detach().exp();
    const Tensor<1> target = [&] {
      const NoGrad pause;
      const SquashedNormal next = squashed_normal(actor_.forward(batch.next), drawn());
      return sac_target(batch.rewards, batch.discounts, target_critic_.least(batch.next, next.actions),
                        next.log_probabilities, temperature);
    }();
    std::optional<Tensor<1>> errors;
    auto [loss, grads] = value_and_grad(critic_, [&](const TwinCritic<Critic>& model) {
      const auto values = model.forward(batch.seen, batch.actions);
      errors = (values.first - target).detach();
      return twin_loss(values, target, batch.weights);
    });
    critic_ = critic_adam_.step(config_.common.rate, std::move(critic_), grads);
    gathered_.set_errors(batch, *errors);

    const Tensor<2> noise = drawn();
    std::optional<Tensor<1>> log_probabilities;
    auto [cost, directions] = value_and_grad(actor_, [&](const Actor& model) {
      const SquashedNormal now = squashed_normal(model.forward(batch.seen), noise);
      log_probabilities = now.log_probabilities.detach();
      return (now.log_probabilities * temperature - critic_.least(batch.seen, now.actions)).mean();
    });
    actor_ = actor_adam_.step(config_.common.rate, std::move(actor_), directions);

    const double wanted = config_.target_entropy.value_or(-static_cast<double>(batch.actions.dim(1)));
    auto [lack, warmth] = value_and_grad(temperature_, [&](const Temperature& model) {
      return -(model.logarithm * (*log_probabilities + wanted).mean());
    });
    temperature_ = temperature_adam_.step(config_.common.rate, std::move(temperature_), warmth);
    target_critic_ = moved_towards(target_critic_, critic_, config_.common.follow);
    return Update{loss.item(), {{"temperature", temperature.item()}}};
  }
  double rate() const { return config_.common.rate; }

  /// Calls f(name, part) for what a record of the agent holds.
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
    f(std::string("gathered"), self.gathered_);
    f(std::string("actor"), self.actor_);
    f(std::string("critic"), self.critic_);
    f(std::string("target_critic"), self.target_critic_);
    f(std::string("temperature"), self.temperature_);
    f(std::string("actor_optimizer"), self.actor_adam_);
    f(std::string("critic_optimizer"), self.critic_adam_);
    f(std::string("temperature_optimizer"), self.temperature_adam_);
  }

  SacConfig config_;
  Gathered gathered_;
  Actor actor_;
  TwinCritic<Critic> critic_, target_critic_;
  Temperature temperature_;
  Adam actor_adam_, critic_adam_, temperature_adam_;
};

}  // namespace kiln::rl
