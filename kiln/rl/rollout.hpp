// The newest steps of an agent, to learn from once: some of each environment, and by how much each action was better than
// expected.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/rl/vector_environment.hpp"

namespace kiln::rl {

/// Steps of several environments, [steps, environments] each, as generalised advantages take them.
struct ValuedSteps {
  std::span<const double> rewards;
  std::span<const double> values;       // of the state before the step
  std::span<const double> next_values;  // of the state after it; what an episode that terminated has there is not read
  std::span<const Outcome> outcomes;
};
/// A_t = d_t + discount * lambda * A_t+1 with d_t = reward + discount * next value - value, [steps, environments]. The sum
/// ends with an episode; a truncated one has the value of its last state, a terminated one none (Schulman et al.,
/// "High-dimensional continuous control using generalized advantage estimation", 2016). Throws ShapeError where the lists
/// are of different lengths, or those no multiple of `environments`.
std::vector<double> generalized_advantages(const ValuedSteps& steps, std::size_t environments, double discount,
                                           double lambda);

struct RolloutConfig {
  std::int64_t steps = 128;  // of each environment
  double discount = 0.99;    // of a reward, for each step that it lies ahead
  double lambda = 0.95;      // of generalised advantages: 0 looks one step ahead, 1 to the end

  /// Throws ArgumentError.
  void check() const;
};

/// Rows of float32, one for each step of each environment: those of the first step first.
struct Experience {
  TensorData observations, actions;  // [n, numbers of the space]
  TensorData values;                 // [n]: of the states before the steps
  TensorData advantages, returns;    // [n]: returns are advantages + values
};

class Rollout {
 public:
  /// The value of each state, whose observations are rows: [n, numbers] -> [n].
  using ValueOf = FunctionRef<std::vector<float>(const TensorData& observations)>;

  /// Throws ArgumentError.
  Rollout(const RolloutConfig& config, const VectorEnvironment& worlds);

  /// A step of all environments, that has led to what `worlds` holds now; `observations` are those of before it. Throws
  /// ShapeError for other sizes, ArgumentError where the rollout is full.
  void add(std::span<const float> observations, std::span<const float> actions, const VectorEnvironment& worlds);
  bool full() const { return count_ == config_.steps; }
  /// All of it; the rollout begins anew. Asks for the values of all states that were acted in, and of those at the end of
  /// truncated episodes and of the rollout. Throws ArgumentError where it is empty, ShapeError for another number of values.
  Experience take(ValueOf value_of);

  const RolloutConfig& config() const { return config_; }

  /// Calls f(name, part) for what a record of the rollout holds.
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
