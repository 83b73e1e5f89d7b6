#include "kiln/rl/rollout.hpp"

#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

std::vector<double> generalized_advantages(const ValuedSteps& steps, std::size_t environments, double discount,
                                           double decay) {
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
    advantages[i] = surprise + (goes_on ? discount * decay * advantages[i + environments] : 0);
  }
  return advantages;
}

void RolloutConfig::check() const {
  require<ArgumentError>(steps >= 1, "RolloutConfig: steps = ", steps, " must be at least 1");
  require<ArgumentError>(0 <= discount && discount <= 1, "RolloutConfig: discount = ", discount, " must be 0 to 1");
  require<ArgumentError>(0 <= decay && decay <= 1, "RolloutConfig: decay = ", decay, " must be 0 to 1");
}

Rollout::Rollout(const RolloutConfig& config, const VectorEnvironment& worlds)
    : config_((config.check(), config)),
      environments_(worlds.count()),
      seen_(static_cast<std::size_t>(worlds.observation_space().size())),
      acted_(static_cast<std::size_t>(worlds.action_space().size())) {}

void Rollout::add(std::span<const float> observations, std::span<const float> actions,
                  std::span<const float> log_probabilities, std::span<const float> values,
                  std::span<const float> next_values, const VectorEnvironment& worlds) {
  require<ArgumentError>(!full(), "Rollout: has its ", config_.steps, " steps: take() them first");
  const std::size_t n = environments_;
  require<ShapeError>(worlds.count() == n && observations.size() == n * seen_ && actions.size() == n * acted_ &&
                          log_probabilities.size() == n && values.size() == n && next_values.size() == n,
                      "Rollout: takes ", n, " environments with observations of ", seen_, " and actions of ", acted_,
                      " numbers, and of each a log probability and two values; got ", worlds.count(), " with ",
                      observations.size(), " and ", actions.size(), " in all, ", log_probabilities.size(), ", ",
                      values.size(), " and ", next_values.size());
  observations_.insert(observations_.end(), observations.begin(), observations.end());
  actions_.insert(actions_.end(), actions.begin(), actions.end());
  log_probabilities_.insert(log_probabilities_.end(), log_probabilities.begin(), log_probabilities.end());
  values_.insert(values_.end(), values.begin(), values.end());
  next_values_.insert(next_values_.end(), next_values.begin(), next_values.end());
  outcomes_.insert(outcomes_.end(), worlds.outcomes().begin(), worlds.outcomes().end());
  for (const Outcome& outcome : worlds.outcomes()) rewards_.push_back(outcome.reward);
  ++count_;
}

Experience Rollout::take() {
  require<ArgumentError>(count_ > 0, "Rollout: is empty: add() something before take()");
  const std::vector<double> advantages = generalized_advantages({rewards_, values_, next_values_, outcomes_},
                                                                environments_, config_.discount, config_.decay);
  const auto rows = static_cast<std::int64_t>(rewards_.size());
  const auto floats = [&](auto&& number) {
    TensorData data(Shape{rows}, DType::F32);
    for (std::size_t i = 0; i < rewards_.size(); ++i) data.as<float>()[i] = static_cast<float>(number(i));
    return data;
  };
  const auto table = [&](const std::vector<float>& numbers, std::size_t size) {
    return TensorData::of<float>({rows, static_cast<std::int64_t>(size)}, numbers);
  };
  Experience experience{table(observations_, seen_),
                        table(actions_, acted_),
                        TensorData::of<float>({rows}, log_probabilities_),
                        floats([&](std::size_t i) { return values_[i]; }),
                        floats([&](std::size_t i) { return advantages[i]; }),
                        floats([&](std::size_t i) { return advantages[i] + values_[i]; })};
  count_ = 0;
  for (std::vector<float>* list : {&observations_, &actions_, &log_probabilities_}) list->clear();
  for (std::vector<double>* list : {&rewards_, &values_, &next_values_}) list->clear();
  outcomes_.clear();
  return experience;
}

}  // namespace kiln::rl
