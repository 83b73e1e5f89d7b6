#include "kiln/rl/rollout.hpp"

#include <algorithm>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

std::vector<double> generalized_advantages(const ValuedSteps& steps, std::size_t environments, double discount,
                                           double lambda) {
  const std::size_t count = steps.rewards.size();
  require<ShapeError>(environments > 0 && count % environments == 0 && steps.values.size() == count &&
                          steps.next_values.size() == count && steps.outcomes.size() == count,
                      "generalized_advantages: ", count, " rewards of ", environments, " environments, ",
                      steps.values.size(), " and ", steps.next_values.size(), " values, ", steps.outcomes.size(),
                      " outcomes");
  std::vector<double> advantages(count);
  for (std::size_t i = count; i-- > 0;) {
    const Outcome& outcome = steps.outcomes[i];
    double surprise = steps.rewards[i] - steps.values[i];
    if (!outcome.terminated) surprise += discount * steps.next_values[i];
    const bool goes_on = !outcome.over() && i + environments < count;
    advantages[i] = surprise + (goes_on ? discount * lambda * advantages[i + environments] : 0);
  }
  return advantages;
}

void RolloutConfig::check() const {
  require<ArgumentError>(steps >= 1, "RolloutConfig: steps = ", steps, " must be at least 1");
  require<ArgumentError>(0 <= discount && discount <= 1, "RolloutConfig: discount = ", discount, " must be 0 to 1");
  require<ArgumentError>(0 <= lambda && lambda <= 1, "RolloutConfig: lambda = ", lambda, " must be 0 to 1");
}

Rollout::Rollout(const RolloutConfig& config, const VectorEnvironment& worlds)
    : config_((config.check(), config)),
      name_(worlds.environment(0).name()),
      environments_(worlds.count()),
      observation_size_(static_cast<std::size_t>(worlds.observation_space().size())),
      action_size_(static_cast<std::size_t>(worlds.action_space().size())) {}

void Rollout::require_consistent() const {
  const std::size_t rows = environments_ * static_cast<std::size_t>(std::max<std::int64_t>(count_, 0));
  require<DataError>(0 <= count_ && count_ <= config_.steps && observations_.size() == rows * observation_size_ &&
                         actions_.size() == rows * action_size_ && finals_.size() == rows * observation_size_ &&
                         rewards_.size() == rows && ends_.size() == rows,
                     "Rollout: what was loaded is of another rollout than one of ", config_.steps, " steps of ",
                     environments_, " times ", name_);
}

void Rollout::add(std::span<const float> observations, std::span<const float> actions,
                  const VectorEnvironment& worlds) {
  require_consistent();
  require<ArgumentError>(!full(), "Rollout: has its ", config_.steps, " steps: take() them first");
  require<ShapeError>(worlds.count() == environments_ && observations.size() == environments_ * observation_size_ &&
                          actions.size() == environments_ * action_size_ &&
                          worlds.final_observations().size() == observations.size(),
                      "Rollout: takes ", environments_, " environments with observations of ", observation_size_,
                      " and actions of ", action_size_, " numbers, got ", worlds.count(), " with ", observations.size(),
                      " and ", actions.size(), " in all");
  const auto append = [](std::vector<float>& list, std::span<const float> numbers) {
    list.insert(list.end(), numbers.begin(), numbers.end());
  };
  append(observations_, observations);
  append(actions_, actions);
  append(finals_, worlds.final_observations());
  for (const Outcome& outcome : worlds.outcomes()) {
    rewards_.push_back(outcome.reward);
    ends_.push_back(outcome.terminated ? 1 : outcome.truncated ? 2 : 0);
  }
  ++count_;
}

void Rollout::clear() {
  count_ = 0;
  for (std::vector<float>* const list : {&observations_, &actions_, &finals_}) list->clear();
  rewards_.clear();
  ends_.clear();
}

Experience Rollout::take(ValueOf value_of) {
  require_consistent();
  require<ArgumentError>(count_ > 0, "Rollout: is empty: add() something before take()");
  const std::size_t rows = rewards_.size();
  const auto table = [](const std::vector<float>& numbers, std::size_t size) {
    return TensorData::of<float>({static_cast<std::int64_t>(numbers.size() / size), static_cast<std::int64_t>(size)},
                                 numbers);
  };
  const auto valued = [&](const TensorData& observations) {
    std::vector<float> values = value_of(observations);
    require<ShapeError>(values.size() == static_cast<std::size_t>(observations.shape()[0]), "Rollout: ", values.size(),
                        " values of ", observations.shape()[0], " states");
    return values;
  };
  Experience experience{table(observations_, observation_size_), table(actions_, action_size_), {}, {}, {}};
  const std::vector<float> values = valued(experience.observations);

  // The value after a step is that of the next state, unless the episode or the rollout ends there.
  std::vector<float> last_observations;
  std::vector<std::size_t> last_rows;
  std::vector<double> next_values(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (ends_[i] == 0 && i + environments_ < rows) {
      next_values[i] = values[i + environments_];
    } else if (ends_[i] != 1) {
      last_rows.push_back(i);
      last_observations.insert(last_observations.end(),
                               finals_.begin() + static_cast<std::ptrdiff_t>(i * observation_size_),
                               finals_.begin() + static_cast<std::ptrdiff_t>((i + 1) * observation_size_));
    }
  }
  if (!last_rows.empty()) {
    const std::vector<float> last_values = valued(table(last_observations, observation_size_));
    for (std::size_t i = 0; i < last_rows.size(); ++i) next_values[last_rows[i]] = last_values[i];
  }

  std::vector<Outcome> outcomes(rows);
  for (std::size_t i = 0; i < rows; ++i)
    outcomes[i] = {.reward = rewards_[i], .terminated = ends_[i] == 1, .truncated = ends_[i] == 2};
  const std::vector<double> own_values(values.begin(), values.end());
  const std::vector<double> advantages = generalized_advantages({rewards_, own_values, next_values, outcomes},
                                                                environments_, config_.discount, config_.lambda);
  const auto column = [&](auto&& number) {
    TensorData data(Shape{static_cast<std::int64_t>(rows)}, DType::F32);
    for (std::size_t i = 0; i < rows; ++i) data.as<float>()[i] = static_cast<float>(number(i));
    return data;
  };
  experience.values = column([&](std::size_t i) { return values[i]; });
  experience.advantages = column([&](std::size_t i) { return advantages[i]; });
  experience.returns = column([&](std::size_t i) { return advantages[i] + own_values[i]; });
  clear();
  return experience;
}

}  // namespace kiln::rl
