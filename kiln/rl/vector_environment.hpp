// Several environments of one kind that step together: their observations are one tensor, and a policy answers them all
// at once.
//
//   rl::VectorEnvironment worlds([] { return rl::limited(rl::cart_pole(), rl::kCartPoleSteps); }, 16, /*seed=*/1);
//   for (;;) worlds.step(actions_for(worlds.observations()));
//
// When an episode ends, the next one begins in the same step: observations() then has its first observation, and
// final_observation() the last one of the episode that ended.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "kiln/rl/normalization.hpp"

namespace kiln::rl {

/// An episode that has ended: the sum of its rewards as the environment returned them, and its steps.
struct Episode {
  std::size_t environment = 0;
  double reward = 0;
  std::int64_t steps = 0;
};

class VectorEnvironment {
 public:
  /// Seeds environment i with stream i of `seed`, and begins an episode in each. `in_threads` steps them in the threads
  /// of parallel_for, which is faster if a step takes more than some 5 us. Throws ArgumentError for less than one
  /// environment, ShapeError if their spaces differ, and the errors of creating one.
  VectorEnvironment(const MakeEnvironment& make, std::int64_t count, std::uint64_t seed, bool in_threads = false);

  std::size_t count() const { return environments_.size(); }
  /// Returns the space of observations().
  const Space& observation_space() const { return environment(0), observation_space_; }
  const Space& action_space() const { return environment(0).actions(); }

  /// Begins new episodes in all environments, with this seed.
  void reset(std::uint64_t seed);
  /// Takes a step of each environment. `actions` has the numbers of the first one's action, then those of the second
  /// one's. An error of an environment is thrown on and names it; of several errors, the first. The other environments
  /// have stepped, so that only reset() or set_state() can continue: until then, step() throws ArgumentError.
  void step(std::span<const float> actions);

  /// Returns the current observations, [count, ...] with the shape of the space.
  std::span<const float> observations() const { return observations_; }
  /// Returns the observations at the end of this step; they differ from observations() only where an episode has ended.
  std::span<const float> final_observations() const { return finals_; }
  std::span<const Outcome> outcomes() const { return outcomes_; }
  /// Returns the episodes that the last step ended, in the order of the environments.
  std::span<const Episode> ended() const { return ended_; }
  /// Returns the running episode of each environment, so far.
  std::span<const Episode> open() const { return open_; }

  /// Normalises observations and rewards from here on, by the moments of all environments; the current observations are
  /// the first ones. Throws ArgumentError if they are normalised already, and the errors of Normalization.
  void normalize(const NormalizationConfig& config);
  /// Normalises them by other moments, which do not change: for the evaluation of a policy that was trained with these.
  /// Replaces an earlier normalisation from the next reset() or step() on. Throws ShapeError for moments of
  /// observations of another size.
  void normalize_as(const Normalization& moments);
  /// Returns null without normalisation.
  const Normalization* normalization() const { return normalization_ ? &*normalization_ : nullptr; }

  /// Throws ArgumentError if there are no environments: an object that was moved from has none.
  const Environment& environment(std::size_t i) const;

  /// Returns the complete state as numbers: set_state() of as many environments of the kind continues from it.
  std::vector<double> state() const;
  /// Throws DataError, and changes nothing, for an invalid state.
  void set_state(std::span<const double> state);

 private:
  std::span<float> row(std::vector<float>& rows, std::size_t i) const;
  void normalize_observations();
  void step_one(std::size_t i, std::span<const float> actions);

  std::vector<EnvironmentPtr> environments_;
  Space observation_space_;
  std::optional<Normalization> normalization_;
  bool in_threads_;
  bool broken_ = false;
  std::vector<float> observations_, finals_;
  std::vector<Outcome> outcomes_;
  std::vector<Episode> open_, ended_;
};

}  // namespace kiln::rl
