// Observations and rewards divided by their deviations so far, like Gymnasium's NormalizeObservation and
// NormalizeReward for vectors of environments.
//
//   rl::VectorEnvironment worlds(make, 8, /*seed=*/1);
//   worlds.normalize({});                             // the moments are those of all eight
//   const rl::Normalization& moments = *worlds.normalization();
//   save_record(moments, "moments.safetensors");      // a policy that learned from such observations needs them
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/rl/environment.hpp"

namespace kiln::rl {

struct NormalizationConfig {
  bool observations = true;  // scale each number to mean 0 and variance 1
  bool rewards = true;       // divide by the deviation of the discounted sum of rewards so far
  double discount = 0.99;    // the discount of that sum
  double epsilon = 1e-8;     // added to variances
  double limit = 10;         // normalised numbers are clamped to +-limit; infinity: not clamped

  /// Throws ArgumentError.
  void check() const;
};

/// The mean and the variance of each column of rows that arrive over time (Chan, Golub, LeVeque, "Updating formulae and
/// a pairwise algorithm for computing sample variances", 1979). They begin with mean 0 and variance 1, with the weight
/// of 1e-4 rows.
struct RunningMoments {
  double count = 1e-4;
  std::vector<double> mean{}, variance{};

  explicit RunningMoments(std::size_t columns = 0) : mean(columns), variance(columns, 1.0) {}
  /// Adds rows [n, columns].
  void update(std::span<const double> rows);
  friend bool operator==(const RunningMoments&, const RunningMoments&) = default;
};

/// The moments of several environments, and the normalisation by them.
class Normalization {
 public:
  /// Throws ArgumentError; and ShapeError for a discrete space of observations, which one_hot() converts to a box.
  Normalization(const NormalizationConfig& config, const Space& observations, std::size_t environments);

  const NormalizationConfig& config() const { return config_; }
  const RunningMoments& observations() const { return observations_; }
  const RunningMoments& returns() const { return returns_; }
  /// Uses a copy of another object's moments, which no longer change: for evaluation. Throws ShapeError if they belong
  /// to observations of another size.
  void take_moments(const Normalization& other);
  /// Returns the space of normalised observations.
  Space normalized(const Space& space) const;

  /// Called when episodes begin in all environments.
  void restart();
  /// Adds rows of observations to the moments, unless these are frozen.
  void learn(std::span<const float> rows);
  /// Normalises rows of observations [n, numbers] in place. Throws ShapeError for another size.
  void normalize(std::span<float> rows) const;
  /// Normalises the rewards of a step of all environments in place, after they were added to the moments.
  void normalize(std::span<Outcome> outcomes);

  /// Returns the complete state as numbers.
  std::vector<double> state() const;
  /// Restores a state. Returns false, and changes nothing, for numbers that are no such state.
  bool set_state(std::span<const double> state);

  /// Calls f(name, part) for each part of the record. If a record belongs to observations of another size, its first
  /// use throws DataError.
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
    f(std::string("observation_count"), self.observations_.count);
    f(std::string("observation_mean"), self.observations_.mean);
    f(std::string("observation_variance"), self.observations_.variance);
    f(std::string("return_count"), self.returns_.count);
    f(std::string("return_mean"), self.returns_.mean);
    f(std::string("return_variance"), self.returns_.variance);
  }
  /// Calls f(number) for each number of the state.
  template <class F>
  void each_number(F f) {
    for (RunningMoments* const moments : {&observations_, &returns_}) {
      f(moments->count);
      for (double& number : moments->mean) f(number);
      for (double& number : moments->variance) f(number);
    }
    for (double& number : sums_) f(number);
  }
  void require_loaded() const;

  NormalizationConfig config_;
  std::size_t columns_;  // numbers of an observation
  RunningMoments observations_, returns_;
  std::vector<double> sums_;  // the discounted rewards so far of each environment's episode
  bool frozen_ = false;
};

}  // namespace kiln::rl
