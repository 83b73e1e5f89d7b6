// The transitions of an agent for repeated learning: a ring buffer, sampled uniformly or by priority.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/core/tensor_data.hpp"
#include "kiln/rl/vector_environment.hpp"

namespace kiln::rl {

struct ReplayConfig {
  std::int64_t capacity = 100'000;  // transitions; a new one replaces the oldest
  std::int64_t steps = 1;           // steps per transition, whose rewards are summed (Sutton, "TD learning", 1988)
  double discount = 0.99;           // the discount of a reward per step
  /// The exponent of priorities (Schaul et al., "Prioritized experience replay", 2016): with 0 all transitions have the
  /// same probability, with 1 it is proportional to their errors.
  double priority = 0;
  double correction = 0.4;  // how far the weights of a sample correct the probabilities, 0 to 1

  /// Throws ArgumentError.
  void check() const;
};

/// Transitions as tensors of float32, one row each.
struct Transitions {
  TensorData observations, actions;   // [n, numbers of the space]
  TensorData rewards;                 // [n]: the discounted sums over the steps
  TensorData next_observations;       // the observations after the last step
  TensorData discounts;               // [n]: factors of the value of next_observations; 0 if the episode terminated
  TensorData weights;                 // [n], at most 1: weights in a loss; 1 for uniform probabilities
  std::vector<std::int64_t> indices;  // in the buffer, for set_errors()
};

/// Numbers and their sum. A position in the sum is found in a time that grows with the logarithm of their count.
class SumTree {
 public:
  explicit SumTree(std::size_t count);
  void set(std::size_t i, double number);
  double at(std::size_t i) const { return sums_[leaves_ + i]; }
  double sum() const { return sums_[1]; }
  /// Returns the first number for which the sum up to it exceeds `part`; for the whole sum, the last number above 0.
  std::size_t find(double part) const;

 private:
  std::size_t leaves_;
  std::vector<double> sums_;  // node i has the sum of 2 i and 2 i + 1
};

class Replay {
 public:
  /// Creates a buffer for the number and the spaces of `worlds`, and allocates all memory at once. Throws
  /// ArgumentError, and MemoryError if there is too little memory.
  Replay(const ReplayConfig& config, const VectorEnvironment& worlds);

  /// Adds a step of all environments, after which `worlds` is now. `observations` are those before the step. Throws
  /// ShapeError for other sizes.
  void add(std::span<const float> observations, std::span<const float> actions, const VectorEnvironment& worlds);

  /// Samples `count` transitions with replacement. Throws ArgumentError while the buffer is empty, or for a count
  /// below 1.
  Transitions sample(std::int64_t count, Random& random);
  /// Sets the errors of a sample, whose magnitudes become priorities; new transitions have the highest priority so far.
  /// Does nothing without priorities. Throws ArgumentError for indices outside the buffer, or errors that are not
  /// finite.
  void set_errors(std::span<const std::int64_t> indices, std::span<const float> errors);

  std::int64_t size() const { return size_; }
  const ReplayConfig& config() const { return config_; }

  /// Calls f(name, part) for each part of the buffer's record. If a record belongs to a buffer of another size, the
  /// next add() or sample() throws DataError.
  template <class F>
  void visit_state(F&& f) {
    visit(*this, f);
    tree_is_built_ = false;  // since priorities may have changed
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
    f(std::string("rewards"), self.rewards_);
    f(std::string("next_observations"), self.nexts_);
    f(std::string("discounts"), self.discounts_);
    f(std::string("priorities"), self.priorities_);
    f(std::string("open"), self.open_);
    f(std::string("open_counts"), self.open_counts_);
    f(std::string("highest"), self.highest_);
    f(std::string("size"), self.size_);
    f(std::string("next"), self.next_);
  }
  void require_consistent() const;
  void build_tree();
  /// Makes a transition of all the open steps of an environment, and removes the oldest step.
  void close_oldest(std::size_t environment, std::span<const float> next, bool terminated);

  ReplayConfig config_;
  std::string name_;
  std::size_t environments_, observation_size_, action_size_;  // numbers of an observation and of an action
  std::vector<float> observations_, actions_, rewards_, nexts_, discounts_;
  std::vector<double> priorities_;  // to the power of config.priority; empty without priorities
  std::vector<float> open_;         // up to `steps` steps of each environment: observation, action, reward
  std::vector<std::int64_t> open_counts_;
  double highest_ = 1;
  std::int64_t size_ = 0, next_ = 0;
  SumTree tree_;
  bool tree_is_built_ = true;
};

}  // namespace kiln::rl
