// Metrics of what learns by playing: [environments] of a step, or [steps, environments].
#pragma once
#include <vector>

#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// What each environment's episode has come to that is not over yet. It does not add up, so it is no state: it goes on where an
/// epoch ends, and is saved with a checkpoint.
struct OpenEpisodes {
  std::vector<double> sums{};

  /// Adds rows of numbers, one for each environment; where a row ends an episode, its sum is added to `sum`. Throws ShapeError.
  void add(std::string_view name, const Value& numbers, const Value& ended, Total& sum, Total& count);
};

/// Rewards of an episode, of those that have ended: the mean of their sums.
struct CumulativeReward {
  Total sum{}, count{};
  OpenEpisodes open{};

  /// `ended` says after which steps an episode was over. Throws ShapeError.
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

/// Steps of an episode, of those that have ended: their mean.
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

/// The share of actions that were drawn at random, and not chosen.
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
