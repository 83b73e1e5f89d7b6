// Several environments of one kind that step together: what they show is one tensor, and a policy answers them all at once.
//
//   rl::VectorEnvironment worlds([] { return rl::limited(rl::cart_pole(), rl::kCartPoleSteps); }, 16, /*seed=*/1);
//   for (;;) worlds.step(actions_for(worlds.observations()));
//
// Where an episode ends, the next one begins in the same step: observations() then has its first observation, and
// final_observation() the last one of the episode that ended.
#pragma once
#include <span>
#include <vector>

#include "kiln/rl/environment.hpp"

namespace kiln::rl {

/// An episode that has ended: the sum of its rewards, and its steps.
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
  const Space& observation_space() const { return environments_[0]->observations(); }
  const Space& action_space() const { return environments_[0]->actions(); }

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
  /// Those that the last step ended, in the order of the environments.
  std::span<const Episode> ended() const { return ended_; }

  const Environment& environment(std::size_t i) const { return *environments_[i]; }

  /// All that changes, as numbers: set_state() of as many environments of the kind goes on from there.
  std::vector<double> state() const;
  /// Throws DataError, and then nothing has changed.
  void set_state(std::span<const double> state);

 private:
  std::span<float> row(std::vector<float>& rows, std::size_t i) const;
  void step_one(std::size_t i, std::span<const float> actions);

  std::vector<EnvironmentPtr> environments_;
  bool in_threads_;
  bool broken_ = false;
  std::vector<float> observations_, finals_;
  std::vector<Outcome> outcomes_;
  std::vector<Episode> open_, ended_;
};

}  // namespace kiln::rl
