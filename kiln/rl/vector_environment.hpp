// Several environments of one kind that step together: what they show is one tensor, and a policy answers them all at once.
//
//   rl::VectorEnvironment worlds([] { return rl::limited(rl::cart_pole(), rl::kCartPoleSteps); }, 16, /*seed=*/1);
//   for (;;) worlds.step(actions_for(worlds.observations()));
//
// Where an episode ends, the next one begins in the same step: observations() then has its first observation, and
// final_observation() the last one of the episode that ended.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "kiln/rl/normalization.hpp"

namespace kiln::rl {

/// An episode that has ended: the sum of its rewards, as its environment gave them, and its steps.
struct Episode {
  std::size_t environment = 0;
  double reward = 0;
  std::int64_t steps = 0;
};

class VectorEnvironment {
 public:
  /// Environment i is seeded with the stream number i of `seed`, and begins an episode. `in_threads`
  /// steps them in the threads of parallel_for, which pays where a step takes more than some 5 us. Throws ArgumentError for
  /// less than one environment, ShapeError where they differ in their spaces, and what making one does.
  VectorEnvironment(const MakeEnvironment& make, std::int64_t count, std::uint64_t seed, bool in_threads = false);

  std::size_t count() const { return environments_.size(); }
  /// What observations() shows.
  const Space& observation_space() const { return environment(0), observation_space_; }
  const Space& action_space() const { return environment(0).actions(); }

  /// All of them begin anew, with this seed.
  void reset(std::uint64_t seed);
  /// A step of each. `actions` has the numbers of the first one's action, then those of the second's. What an environment
  /// throws comes out, and names it; of several, what the first one threw. The others have stepped, so that only reset() or
  /// set_state() goes on from there: until then, step() throws ArgumentError.
  void step(std::span<const float> actions);

  /// [count, ...] as the space has it: what each shows now.
  std::span<const float> observations() const { return observations_; }
  /// What each showed at the end of this step; the same as observations() but where an episode has ended.
  std::span<const float> final_observations() const { return finals_; }
  std::span<const Outcome> outcomes() const { return outcomes_; }
  /// The episodes that the last step ended, in the order of the environments.
  std::span<const Episode> ended() const { return ended_; }
  /// The episode under way in each environment, so far.
  std::span<const Episode> open() const { return open_; }

  /// Has observations and rewards normalised from here on, by the moments of all environments; those of the observations
  /// that show now are the first. Throws ArgumentError where they are normalised already, and what Normalization does.
  void normalize(const NormalizationConfig& config);
  /// Has them normalised by moments of others, which stay as they are: an evaluation of what was trained there. Takes the
  /// place of an earlier normalisation, from the next reset() or step() on. Throws ShapeError for moments of observations of another size.
  void normalize_as(const Normalization& moments);
  /// Null where nothing is normalised.
  const Normalization* normalization() const { return normalization_ ? &*normalization_ : nullptr; }

  /// Throws ArgumentError where there is none: all are gone from what was moved from.
  const Environment& environment(std::size_t i) const;

  /// All that changes, as numbers: set_state() of as many environments of the kind goes on from there.
  std::vector<double> state() const;
  /// Throws DataError, and then nothing has changed.
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
