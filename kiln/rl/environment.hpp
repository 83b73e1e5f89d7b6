// An environment: an agent observes it as numbers and acts on it, step by step, in episodes.
//
//   const auto world = rl::cart_pole();
//   std::vector<float> seen(4);
//   world->seed(1);
//   world->reset(seen);
//   while (!world->step(action, seen).over()) ...
//
// A user's environment derives from Environment and defines begin() and advance(). `reset` and `step` check arguments
// and results, so that environments need not do it.
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

/// The result of a step. An episode that `terminated` has no future: its last state has no value. One that was
/// `truncated` by a limit of steps could have continued.
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

  /// Sets the seed of all random numbers from here on.
  void seed(std::uint64_t seed);
  /// Begins an episode and writes its first observation. Throws ShapeError if `observation` has another size, and
  /// DataError if the environment writes a number that is not finite, or an index that its space does not have.
  void reset(std::span<float> observation);
  /// Takes one step. Throws ArgumentError for an action outside the space, and if no episode is running; DataError if
  /// the reward is not finite, or for an observation that reset() would refuse.
  Outcome step(std::span<const float> action, std::span<float> observation);

  /// Whether an episode is running.
  bool running() const { return running_; }
  /// Returns a picture of the current state for people. Throws ArgumentError if the environment has no picture.
  Picture render() const;

  /// Returns the complete state as numbers, from which an environment of the same kind continues in the same way.
  /// Throws ArgumentError if the environment does not define its state.
  std::vector<double> state() const;
  /// Restores such a state. Throws DataError, and changes nothing, for numbers that are no state of such an
  /// environment.
  void set_state(std::span<const double> state);

 protected:
  Environment(std::string name, Space observations, Space actions);
  /// Returns the random numbers of this call of begin() or advance(): each call has its own stream, which depends on
  /// the seed and on the number of calls since seed().
  Random& random();

 private:
  virtual void begin(std::span<float> observation) = 0;
  /// `action` is in the space, and an episode is running.
  virtual Outcome advance(std::span<const float> action, std::span<float> observation) = 0;
  virtual Picture picture() const;
  /// Returns the state without the random numbers. take() restores it, or returns false for an invalid state.
  virtual std::vector<double> numbers() const;
  virtual bool take(std::span<const double> numbers);
  /// Called by seed(): a wrapper seeds its inner environment here.
  virtual void seeded(std::uint64_t) {}

  void next_call();
  void require_room(std::span<const float> observation) const;
  void require_observation(std::span<const float> observation) const;

  std::string name_;
  Space observations_, actions_;
  std::uint64_t seed_ = 0, calls_ = 0;  // calls of begin() and advance() since seed()
  std::optional<Random> random_;        // of the running call, once it was requested
  bool running_ = false;
};

using EnvironmentPtr = std::unique_ptr<Environment>;
/// Creates environments of one kind, as many as are needed.
using MakeEnvironment = std::function<EnvironmentPtr()>;

}  // namespace kiln::rl
