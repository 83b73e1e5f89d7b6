// The newest steps of an agent, to learn from once, with advantages: how much better each action was than expected.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/rl/vector_environment.hpp"

namespace kiln::rl {

/// Steps of several environments, [steps, environments] each, as input of generalised advantages.
struct ValuedSteps {
  std::span<const double> rewards;
  std::span<const double> values;       // of the states before the steps
  std::span<const double> next_values;  // of the states after them; not read if the episode terminated there
  std::span<const Outcome> outcomes;
};
/// Returns A_t = d_t + discount * lambda * A_t+1 with d_t = reward + discount * next value - value, [steps,
/// environments]. The sum ends with an episode. A truncated episode has the value of its last state, a terminated one
/// none (Schulman et al., "High-dimensional continuous control using generalized advantage estimation", 2016). Throws
/// ShapeError if the lists have different lengths, or these are no multiple of `environments`.
std::vector<double> generalized_advantages(const ValuedSteps& steps, std::size_t environments, double discount,
                                           double lambda);

struct RolloutConfig {
  std::int64_t steps = 128;  // steps of each environment
  double discount = 0.99;    // the discount of a reward per step
  double lambda = 0.95;      // the parameter of generalised advantages: 0 looks one step ahead, 1 to the end

  /// Throws ArgumentError.
  void check() const;
};

/// Rows of float32, one for each step of each environment; the rows of the first step come first.
struct Experience {
  TensorData observations, actions;  // [n, numbers of the space]
  TensorData values;                 // [n]: the values of the states before the steps
  TensorData advantages, returns;    // [n]: returns are advantages + values
};

class Rollout {
 public:
  /// A function that returns the value of each state, from observations as rows: [n, numbers] -> [n].
  using ValueOf = FunctionRef<std::vector<float>(const TensorData& observations)>;

  /// Throws ArgumentError.
  Rollout(const RolloutConfig& config, const VectorEnvironment& worlds);

  /// Adds a step of all environments, after which `worlds` is now; `observations` are those before the step. Throws
  /// ShapeError for other sizes, and ArgumentError if the rollout is full.
  void add(std::span<const float> observations, std::span<const float> actions, const VectorEnvironment& worlds);
  bool full() const { return count_ == config_.steps; }
  /// Returns the whole rollout, and empties it. Calls the function for the values of all states that were acted in, and
  /// of those at the end of truncated episodes and of the rollout. Throws ArgumentError if the rollout is empty, and
  /// ShapeError for another number of values.
  Experience take(ValueOf value_of);

  const RolloutConfig& config() const { return config_; }

  /// Calls f(name, part) for each part of the rollout's record.
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
    f(std::string("observations"), self.observations_);
    f(std::string("actions"), self.actions_);
    f(std::string("finals"), self.finals_);
    f(std::string("rewards"), self.rewards_);
    f(std::string("ends"), self.ends_);
    f(std::string("count"), self.count_);
  }
  void require_consistent() const;
  void clear();

  RolloutConfig config_;
  std::string name_;
  std::size_t environments_, observation_size_, action_size_;
  std::int64_t count_ = 0;
  std::vector<float> observations_, actions_, finals_;
  std::vector<double> rewards_;
  std::vector<std::uint8_t> ends_;  // 1: terminated, 2: truncated
};

}  // namespace kiln::rl
