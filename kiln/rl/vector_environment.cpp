#include "kiln/rl/vector_environment.hpp"

#include <algorithm>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::rl {

VectorEnvironment::VectorEnvironment(const MakeEnvironment& make, std::int64_t count, std::uint64_t seed,
                                     bool in_threads)
    : in_threads_(in_threads) {
  require<ArgumentError>(count >= 1, "VectorEnvironment: count = ", count, " must be at least 1");
  for (std::int64_t i = 0; i < count; ++i) {
    EnvironmentPtr made = make();
    require<ArgumentError>(made != nullptr, "VectorEnvironment: environment ", i, " is none");
    require<ShapeError>(i == 0 || (made->observations() == observation_space() && made->actions() == action_space()),
                        "VectorEnvironment: environment ", i, " has other spaces than the first one");
    if (i == 0) observation_space_ = made->observations();
    environments_.push_back(std::move(made));
  }
  observations_.resize(environments_.size() * static_cast<std::size_t>(observation_space().size()));
  finals_ = observations_;
  outcomes_.resize(environments_.size());
  open_.resize(environments_.size());
  reset(seed);
}

const Environment& VectorEnvironment::environment(std::size_t i) const {
  require<ArgumentError>(i < environments_.size(), "VectorEnvironment: there is no environment ", i, " of ", count(),
                         count() == 0 ? ": they were moved to another object" : "");
  return *environments_[i];
}

std::span<float> VectorEnvironment::row(std::vector<float>& rows, std::size_t i) const {
  const auto size = static_cast<std::size_t>(observation_space().size());
  return std::span(rows).subspan(i * size, size);
}

void VectorEnvironment::reset(std::uint64_t seed) {
  broken_ = true;
  for (std::size_t i = 0; i < count(); ++i) {
    environments_[i]->seed(Key{seed}.split(i).bits);
    environments_[i]->reset(row(observations_, i));
    open_[i] = {.environment = i};
    outcomes_[i] = {};
  }
  if (normalization_) {
    normalization_->restart();
    normalize_observations();
  }
  finals_ = observations_;
  ended_.clear();
  broken_ = false;
}

void VectorEnvironment::normalize(const NormalizationConfig& config) {
  require<ArgumentError>(!normalization_, environment(0).name(), ": is normalised already");
  normalization_.emplace(config, observation_space_, count());
  observation_space_ = normalization_->normalized(observation_space_);
  normalize_observations();
  finals_ = observations_;
}

void VectorEnvironment::normalize_as(const Normalization& moments) {
  Normalization own(moments.config(), environment(0).observations(), count());
  own.take_moments(moments);
  normalization_ = std::move(own);
  observation_space_ = normalization_->normalized(environment(0).observations());
}

void VectorEnvironment::normalize_observations() {
  normalization_->learn(observations_);
  normalization_->normalize(std::span(observations_));
}

void VectorEnvironment::step_one(std::size_t i, std::span<const float> actions) {
  const auto size = static_cast<std::size_t>(action_space().size());
  Environment& environment = *environments_[i];
  outcomes_[i] = environment.step(actions.subspan(i * size, size), row(observations_, i));
  std::ranges::copy(row(observations_, i), row(finals_, i).begin());
  open_[i].reward += outcomes_[i].reward;
  ++open_[i].steps;
  if (outcomes_[i].over()) environment.reset(row(observations_, i));
}

void VectorEnvironment::step(std::span<const float> actions) {
  require<ArgumentError>(!broken_, environment(0).name(), ": an earlier step or reset failed; reset() begins anew");
  require<ShapeError>(actions.size() == count() * static_cast<std::size_t>(action_space().size()),
                      environment(0).name(), ": a step of ", count(), " environments takes ",
                      count() * static_cast<std::size_t>(action_space().size()), " numbers, got ", actions.size());
  broken_ = true;
  const auto several = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto naming = [i](ErrorKind, std::string& out) { out += text(" (environment ", i, ")"); };
      const ErrorContext context(naming);
      step_one(static_cast<std::size_t>(i), actions);
    }
  };
  const auto all = static_cast<std::int64_t>(count());
  if (in_threads_) parallel_for(all, 1, several);
  else several(0, all);
  if (normalization_) {
    normalization_->normalize(std::span(outcomes_));
    normalize_observations();
    normalization_->normalize(std::span(finals_));
  }
  broken_ = false;
  ended_.clear();
  for (std::size_t i = 0; i < count(); ++i)
    if (outcomes_[i].over()) ended_.push_back(std::exchange(open_[i], {.environment = i}));
}

std::vector<double> VectorEnvironment::state() const {
  std::vector<double> state;
  for (std::size_t i = 0; i < count(); ++i) {
    const std::vector<double> own = environments_[i]->state();
    state.push_back(static_cast<double>(own.size()));
    state.insert(state.end(), own.begin(), own.end());
    state.push_back(open_[i].reward);
    state.push_back(static_cast<double>(open_[i].steps));
  }
  state.insert(state.end(), observations_.begin(), observations_.end());
  if (normalization_) {
    const std::vector<double> moments = normalization_->state();
    state.insert(state.end(), moments.begin(), moments.end());
  }
  return state;
}

void VectorEnvironment::set_state(std::span<const double> state) {
  std::vector<std::vector<double>> before;
  for (const EnvironmentPtr& environment : environments_) before.push_back(environment->state());
  try {
    std::span<const double> rest = state;
    const auto taken = [&](std::size_t size) {
      require<DataError>(size <= rest.size(), environment(0).name(), ": these ", state.size(),
                         " numbers are not a state of ", count(), " environments");
      const std::span<const double> first = rest.first(size);
      rest = rest.subspan(size);
      return first;
    };
    std::vector<Episode> open(count());
    for (std::size_t i = 0; i < count(); ++i) {
      const double size = taken(1)[0];
      environments_[i]->set_state(
          taken(size >= 0 && size < 0x1p31 ? static_cast<std::size_t>(size) : state.size() + 1));
      const std::span<const double> episode = taken(2);
      open[i] = {i, episode[0], static_cast<std::int64_t>(episode[1])};
    }
    const std::span<const double> seen = taken(observations_.size());
    if (normalization_) {
      require<DataError>(normalization_->set_state(rest), environment(0).name(), ": the last ", rest.size(),
                         " numbers of the state are not moments of its observations and rewards");
    } else {
      require<DataError>(rest.empty(), environment(0).name(), ": the state has ", rest.size(), " numbers too many");
    }
    std::ranges::transform(seen, observations_.begin(), [](double number) { return static_cast<float>(number); });
    open_ = std::move(open);
  } catch (...) {
    for (std::size_t i = 0; i < count(); ++i) environments_[i]->set_state(before[i]);
    throw;
  }
  finals_ = observations_;
  std::ranges::fill(outcomes_, Outcome{});
  ended_.clear();
  broken_ = false;
}

}  // namespace kiln::rl
