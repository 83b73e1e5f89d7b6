// Deep Q-learning (Mnih et al., "Human-level control through deep reinforcement learning", 2015), by default double (van
// Hasselt, Guez, Silver, 2016). Duelling<Mlp> makes it duelling; ReplayConfig has n-step returns and priorities.
#pragma once
#include <algorithm>
#include <utility>

#include "kiln/optim/rules/adam.hpp"
#include "kiln/rl/agents/parts.hpp"
#include "kiln/rl/replay.hpp"

namespace kiln::rl {

struct DqnConfig {
  ReplayConfig replay{};
  double rate = 1e-3;                   // the learning rate of Adam
  std::int64_t batch = 64;              // transitions per update
  std::int64_t warm_up = 1000;          // transitions before the first update
  std::int64_t steps_per_update = 4;    // steps of an environment from one update to the next
  std::int64_t target_every = 250;      // updates after which the target network becomes a copy
  double epsilon_start = 1;             // the fraction of random actions at the start
  double epsilon_end = 0.05;            // the fraction from epsilon_steps on
  std::int64_t epsilon_steps = 10'000;  // steps of an environment
  double max_gradient_norm = 10;        // the gradients' norm is clipped to this
  bool double_q = true;  // the online network selects the next action, and the target network estimates its value

  /// Throws ArgumentError.
  void check() const;
};

/// Returns the target of an update: reward + discount * value. `next_online` and `next_target` [n, actions] are both
/// networks' values of the actions in the next states.
Tensor<1> dqn_target(const Tensor<1>& rewards, const Tensor<1>& discounts, const Tensor<2>& next_online,
                     const Tensor<2>& next_target, bool double_q);

/// Returns the mean of weight * huber(value - target), [n] each. It is quadratic for differences of less than 1.
Tensor<0> dqn_loss(const Tensor<1>& values, const Tensor<1>& target, const Tensor<1>& weights);

template <Module Q>
class Dqn {
 public:
  /// `online` returns a value for each action. Throws ArgumentError for actions that are not discrete, and for a
  /// network with another number of outputs.
  Dqn(Q online, const DqnConfig& config, const VectorEnvironment& worlds)
      : config_((config.check(), config)),
        actions_(worlds.action_space()),
        online_(std::move(online)),
        target_(moved_towards(online_, online_, 1)),
        adam_(AdamConfig{}.init(online_, {.clip = {.global_norm = config.max_gradient_norm}})),
        replay_(config.replay, worlds) {
    require_discrete("Dqn", actions_);
    require_fitting("Dqn", online_, worlds, actions_.count(), "values of actions");
  }

  const Q& policy() const { return online_; }

  /// Returns the best action of each state, or a random one with the current exploration probability.
  std::vector<float> act(const Q& policy, const Tensor<2>& seen, Random& random, bool explores) const {
    std::vector<float> actions = policy.forward(seen).argmax(1).template to_vector<float>();
    for (float& action : actions)
      if (explores && random.uniform() < exploration()) actions_.sample(random, {&action, 1});
    return actions;
  }

  void observe(std::span<const float> seen, std::span<const float> actions, const VectorEnvironment& worlds) {
    replay_.add(seen, actions, worlds);
    steps_ += static_cast<std::int64_t>(worlds.count());
    due_ += static_cast<double>(worlds.count()) / static_cast<double>(config_.steps_per_update);
  }

  std::optional<Update> learn(Random& random) {
    if (replay_.size() < config_.warm_up) due_ = 0;
    if (due_ < 1) return std::nullopt;
    due_ -= 1;
    const Device device = device_of(online_);
    const Transitions sample = replay_.sample(config_.batch, random);
    const Tensor<1> target = [&] {
      const NoGrad pause;
      const Tensor<2> next = rows_of(sample.next_observations, device);
      return dqn_target(column_of(sample.rewards, device), column_of(sample.discounts, device), online_.forward(next),
                        target_.forward(next), config_.double_q);
    }();
    const Tensor<2> seen = rows_of(sample.observations, device);
    const Tensor<1, Int> taken = indices_of(sample.actions, device);
    const Tensor<1> weights = column_of(sample.weights, device);
    std::optional<Tensor<1>> errors;
    auto [loss, grads] = value_and_grad(online_, [&](const Q& model) {
      const Tensor<1> values = chosen(model.forward(seen), taken);
      errors = (values - target).detach();
      return dqn_loss(values, target, weights);
    });
    online_ = adam_.step(config_.rate, std::move(online_), grads);
    if (config_.replay.priority > 0) replay_.set_errors(sample.indices, errors->template to_vector<float>());
    if (++updates_ % config_.target_every == 0) target_ = moved_towards(target_, online_, 1);
    return Update{loss.item(), {{"exploration", exploration()}}};
  }

  /// Returns the current fraction of random actions.
  double exploration() const {
    const double way = std::min(1.0, static_cast<double>(steps_) / static_cast<double>(config_.epsilon_steps));
    return config_.epsilon_start + way * (config_.epsilon_end - config_.epsilon_start);
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
    f(std::string("online"), self.online_);
    f(std::string("target"), self.target_);
    f(std::string("optimizer"), self.adam_);
    f(std::string("replay"), self.replay_);
    f(std::string("steps"), self.steps_);
    f(std::string("updates"), self.updates_);
    f(std::string("due"), self.due_);
  }

  DqnConfig config_;
  Space actions_;
  Q online_, target_;
  Adam adam_;
  Replay replay_;
  std::int64_t steps_ = 0, updates_ = 0;
  double due_ = 0;  // updates that are due
};

}  // namespace kiln::rl
