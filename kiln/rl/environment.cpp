#include "kiln/rl/environment.hpp"

#include <cmath>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {
namespace {

constexpr std::size_t kOwnNumbers = 4;  // two halves of the seed, the calls, and whether an episode is running

}  // namespace

Environment::Environment(std::string name, Space observations, Space actions)
    : name_(std::move(name)), observations_(std::move(observations)), actions_(std::move(actions)) {}

void Environment::seed(std::uint64_t seed) {
  seed_ = seed;
  calls_ = 0;
  running_ = false;
  seeded(seed);
}

void Environment::next_call() {
  ++calls_;
  random_.reset();
}
Random& Environment::random() {
  if (!random_) random_.emplace(Key{seed_}.split(calls_));
  return *random_;
}

void Environment::require_room(std::span<const float> observation) const {
  require<ShapeError>(observation.size() == static_cast<std::size_t>(observations_.size()), name_, " shows ",
                      observations_.size(), " numbers; there is room for ", observation.size());
}

void Environment::require_observation(std::span<const float> observation) const {
  for (std::size_t i = 0; i < observation.size(); ++i)
    require<DataError>(std::isfinite(observation[i]), name_, ": number ", i, " of its observation is ", observation[i],
                       ", and must be finite");
  require<DataError>(!observations_.is_discrete() || observations_.contains(observation), name_,
                     ": its observation is ", observation[0], ", and must be ", observations_);
}

void Environment::reset(std::span<float> observation) {
  require_room(observation);
  running_ = false;
  next_call();
  begin(observation);
  require_observation(observation);
  running_ = true;
}

Outcome Environment::step(std::span<const float> action, std::span<float> observation) {
  require<ArgumentError>(running_, name_, ": no episode is running: call reset() first");
  require_room(observation);
  if (!actions_.contains(action)) actions_.require(name_ + ": action", action);
  running_ = false;  // stays false if advance() throws
  next_call();
  const Outcome outcome = advance(action, observation);
  require<DataError>(std::isfinite(outcome.reward), name_, ": the reward is ", outcome.reward, ", and must be finite");
  require_observation(observation);
  running_ = !outcome.over();
  return outcome;
}

Picture Environment::render() const { return picture(); }
Picture Environment::picture() const {
  fail<ArgumentError>(name_, " has no picture: an environment draws one in picture()");
}

std::vector<double> Environment::state() const {
  std::vector<double> state = {static_cast<double>(seed_ >> 32), static_cast<double>(seed_ & 0xffffffff),
                               static_cast<double>(calls_), running_ ? 1.0 : 0.0};
  const std::vector<double> own = numbers();
  state.insert(state.end(), own.begin(), own.end());
  return state;
}

void Environment::set_state(std::span<const double> state) {
  const auto whole = [](double number, double limit) {
    return number >= 0 && number < limit && std::trunc(number) == number;
  };
  require<DataError>(state.size() >= kOwnNumbers && whole(state[0], 0x1p32) && whole(state[1], 0x1p32) &&
                         whole(state[2], 0x1p53) && whole(state[3], 2) && take(state.subspan(kOwnNumbers)),
                     name_, ": these ", state.size(), " numbers are not a state of it");
  seed_ = static_cast<std::uint64_t>(state[0]) << 32 | static_cast<std::uint64_t>(state[1]);
  calls_ = static_cast<std::uint64_t>(state[2]);
  running_ = state[3] != 0;
}

std::vector<double> Environment::numbers() const {
  fail<ArgumentError>(name_, " does not define its state: an environment that is saved must have numbers() and take()");
}
bool Environment::take(std::span<const double>) { return false; }

}  // namespace kiln::rl
