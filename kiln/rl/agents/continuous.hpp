// The common parts of agents whose actions are real numbers: their settings, and how they collect transitions and
// learn.
#pragma once
#include "kiln/nn/module/freeze.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/rl/agents/parts.hpp"
#include "kiln/rl/replay.hpp"

namespace kiln::rl {

struct ContinuousConfig {
  ReplayConfig replay{};
  double rate = 3e-4;                 // the learning rate of Adam, for all networks
  std::int64_t batch = 256;           // transitions per update
  std::int64_t warm_up = 1000;        // transitions before the first update; until then actions are random
  std::int64_t steps_per_update = 1;  // steps of an environment from one update to the next
  double tau = 0.005;                 // how far the target networks move towards the others in an update, as a fraction

  /// Throws ArgumentError in the name of `agent`.
  void check(std::string_view agent) const;
};

/// The replay buffer of such an agent, and the schedule of its updates.
class OffPolicyData {
 public:
  OffPolicyData(std::string_view agent, const ContinuousConfig& config, const VectorEnvironment& worlds);

  /// Whether actions are still random.
  bool warming_up() const { return replay_.size() < config_.warm_up; }
  std::vector<float> random_actions(std::int64_t count, Random& random) const;
  void observe(std::span<const float> seen, std::span<const float> actions, const VectorEnvironment& worlds);
  /// Consumes one update that is due.
  bool take_due();

  /// Samples transitions on a device; actions are scaled to [-1, 1].
  struct Batch {
    Tensor<2> seen, actions, next;
    Tensor<1> rewards, discounts, weights;
    std::vector<std::int64_t> indices;
  };
  Batch sample(const Device& device, Random& random);
  void set_errors(const Batch& batch, const Tensor<1>& errors);

  const Bounds& bounds() const { return bounds_; }
  const ContinuousConfig& config() const { return config_; }

  template <class F>
  void visit_state(F&& f) {
    f(std::string("replay"), replay_);
    f(std::string("due"), due_);
  }
  template <class F>
  void visit_state(F&& f) const {
    f(std::string("replay"), replay_);
    f(std::string("due"), due_);
  }

 private:
  ContinuousConfig config_;
  Space actions_;
  Bounds bounds_;
  Replay replay_;
  double due_ = 0;  // updates that are due
};

/// Returns the loss of both critics for one target, [n] each: half the weighted mean square of each difference.
Tensor<0> twin_loss(const std::pair<Tensor<1>, Tensor<1>>& values, const Tensor<1>& target, const Tensor<1>& weights);

}  // namespace kiln::rl
