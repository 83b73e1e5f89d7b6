#include "kiln/rl/agents/continuous.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

void ContinuousConfig::check(std::string_view agent) const {
  replay.check();
  require<ArgumentError>(rate > 0 && std::isfinite(rate), agent, ": rate = ", rate, " must be positive");
  require<ArgumentError>(batch >= 1, agent, ": batch = ", batch, " must be at least 1");
  require<ArgumentError>(1 <= warm_up && warm_up <= replay.capacity, agent, ": warm_up = ", warm_up,
                         " must be 1 to the buffer's capacity, ", replay.capacity);
  require<ArgumentError>(steps_per_update >= 1, agent, ": steps_per_update = ", steps_per_update,
                         " must be at least 1");
  require<ArgumentError>(0 < tau && tau <= 1, agent, ": tau = ", tau, " must be above 0 and at most 1");
}

OffPolicyData::OffPolicyData(std::string_view agent, const ContinuousConfig& config, const VectorEnvironment& worlds)
    : config_((config.check(agent), require_box(agent, worlds.action_space()), config)),
      actions_(worlds.action_space()),
      bounds_(actions_),
      replay_(config.replay, worlds) {}

std::vector<float> OffPolicyData::random_actions(std::int64_t count, Random& random) const {
  const auto size = static_cast<std::size_t>(actions_.size());
  std::vector<float> actions(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < actions.size(); i += size) actions_.sample(random, std::span(actions).subspan(i, size));
  return actions;
}

void OffPolicyData::observe(std::span<const float> seen, std::span<const float> actions,
                            const VectorEnvironment& worlds) {
  replay_.add(seen, actions, worlds);
  due_ = warming_up() ? 0 : due_ + static_cast<double>(worlds.count()) / static_cast<double>(config_.steps_per_update);
}

bool OffPolicyData::take_due() {
  if (due_ < 1) return false;
  due_ -= 1;
  return true;
}

OffPolicyData::Batch OffPolicyData::sample(const Device& device, Random& random) {
  Transitions sample = replay_.sample(config_.batch, random);
  return {rows_of(sample.observations, device),
          bounds_.to_unit(rows_of(sample.actions, device)),
          rows_of(sample.next_observations, device),
          column_of(sample.rewards, device),
          column_of(sample.discounts, device),
          column_of(sample.weights, device),
          std::move(sample.indices)};
}

void OffPolicyData::set_errors(const Batch& batch, const Tensor<1>& errors) {
  if (config_.replay.priority > 0) replay_.set_errors(batch.indices, errors.to_vector<float>());
}

Tensor<0> twin_loss(const std::pair<Tensor<1>, Tensor<1>>& values, const Tensor<1>& target, const Tensor<1>& weights) {
  const auto half = [&](const Tensor<1>& value) { return ((value - target).square() * weights).mean() * 0.5; };
  return half(values.first) + half(values.second);
}

}  // namespace kiln::rl
