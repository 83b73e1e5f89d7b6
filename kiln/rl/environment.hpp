// An environment: a world that an agent sees as numbers and acts upon, step by step, in episodes.
//
//   const auto world = rl::cart_pole();
//   std::vector<float> seen(4);
//   world->seed(1);
//   world->reset(seen);
//   while (!world->step(action, seen).over()) ...
//
// A user's own derives from Environment and says begin() and advance(); `reset` and `step` check what goes in and out, so
// that no environment has to.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/picture/picture.hpp"
#include "kiln/rl/space.hpp"

namespace kiln::rl {

/// What a step came to. An episode that `terminated` has no future, and its last state no value; one that was `truncated`
/// (a limit of steps) would have gone on.
struct Outcome {
  double reward = 0;
  bool terminated = false, truncated = false;
  bool over() const { return terminated || truncated; }
};

class Environment {
 public:
  virtual ~Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const std::string& name() const { return name_; }
  const Space& observations() const { return observations_; }
  const Space& actions() const { return actions_; }

  /// All randomness from here on follows from this number.
  void seed(std::uint64_t seed);
  /// Begins an episode and writes its first observation. Throws ShapeError where `observation` has another size, DataError
  /// where the environment writes a number that is not finite, or an index that its space does not have.
  void reset(std::span<float> observation);
  /// One step. Throws ArgumentError for an action out of the space, and where no episode is under way; DataError where the
  /// reward is not finite, or the observation as above.
  Outcome step(std::span<const float> action, std::span<float> observation);

  /// Is an episode under way?
  bool running() const { return running_; }
  /// What a person would see now. Throws ArgumentError where the environment has no picture.
  Picture render() const;

  /// All that changes, as numbers, from which an environment of the same kind goes on as this one would. Throws
  /// ArgumentError where the environment does not say it.
  std::vector<double> state() const;
  /// Throws DataError for what is no state of such an environment, and then nothing has changed.
  void set_state(std::span<const double> state);

 protected:
  Environment(std::string name, Space observations, Space actions);
  /// The random numbers of this call of begin() or advance(): a stream of its own, which the seed and the number of calls
  /// since then decide.
  Random& random();

 private:
  virtual void begin(std::span<float> observation) = 0;
  /// `action` is in the space, and an episode is under way.
  virtual Outcome advance(std::span<const float> action, std::span<float> observation) = 0;
  virtual Picture picture() const;
  /// What changes beside the random numbers; take() puts it back, or answers false for what cannot be.
  virtual std::vector<double> numbers() const;
  virtual bool take(std::span<const double> numbers);
  /// seed() was called: an environment around another seeds that one, too.
  virtual void seeded(std::uint64_t) {}

  void next_call();
  void require_room(std::span<const float> observation) const;
  void require_observation(std::span<const float> observation) const;

  std::string name_;
  Space observations_, actions_;
  std::uint64_t seed_ = 0, calls_ = 0;  // calls of begin() and advance() since seed()
  std::optional<Random> random_;        // of the call under way, once it has asked
  bool running_ = false;
};

using EnvironmentPtr = std::unique_ptr<Environment>;
/// Makes environments of one kind, as many as are asked for.
using MakeEnvironment = std::function<EnvironmentPtr()>;

}  // namespace kiln::rl
