// Metrics of reinforcement learning: tensors are [environments] for one step, or [steps, environments].
#pragma once
#include <vector>

#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// The sums of each environment's current episode. They are no state of a metric, since they do not add up: they
/// continue over the end of an epoch, and are saved with a checkpoint.
struct OpenEpisodes {
  std::vector<double> sums{};

  /// Adds rows of numbers, one number per environment; where a row ends an episode, its sum is added to `sum`. Throws
  /// ShapeError.
  void add(std::string_view name, const Value& numbers, const Value& ended, Total& sum, Total& count);
};

/// The mean total reward of the episodes that have ended.
struct CumulativeReward {
  Total sum{}, count{};
  OpenEpisodes open{};

  /// `ended` marks the last step of each episode. Throws ShapeError.
  template <int D>
  requires(D == 1 || D == 2) void update(const Tensor<D>& rewards, const Tensor<D, Bool>& ended) {
    open.add("cumulative reward", rewards.value(), ended.value(), sum, count);
  }
  template <class Output>
  requires requires(const Output& output) { output.rewards, output.ended; } void update(const Output& output) {
    update(output.rewards, output.ended);
  }
  double value() const { return mean("cumulative reward", sum, count); }
};

/// The mean number of steps of the episodes that have ended.
struct EpisodeLength {
  Total sum{}, count{};
  OpenEpisodes open{};

  template <int D>
  requires(D == 1 || D == 2) void update(const Tensor<D, Bool>& ended) {
    open.add("episode length", full(ended.shape(), 1.0, ended.device(), DType::F32), ended.value(), sum, count);
  }
  template <class Output>
  requires requires(const Output& output) { output.ended; } void update(const Output& output) {
    update(output.ended);
  }
  double value() const { return mean("episode length", sum, count); }
};

/// The fraction of actions that were random rather than chosen by the policy.
struct ExplorationRate {
  Total drawn{}, count{};

  template <int D>
  void update(const Tensor<D, Bool>& at_random) {
    drawn += at_random.to_float().sum().item();
    count += static_cast<double>(at_random.numel());
  }
  template <class Output>
  requires requires(const Output& output) { output.at_random; } void update(const Output& output) {
    update(output.at_random);
  }
  double value() const { return mean("exploration rate", drawn, count); }
};

}  // namespace kiln::metric
