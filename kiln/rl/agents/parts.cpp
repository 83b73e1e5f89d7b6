#include "kiln/rl/agents/parts.hpp"

#include <algorithm>
#include <numbers>

#include "kiln/core/error/error.hpp"
#include "kiln/nn/module.hpp"

namespace kiln::rl {

Tensor<2> Mlp::forward(const Tensor<2>& x) const {
  Tensor<2> y = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    y = layers[i].forward(y);
    if (i + 1 < layers.size()) y = activation.forward(y);
  }
  return y;
}

Mlp MlpConfig::init(const Device& device) const {
  std::vector<std::int64_t> sizes = {in};
  sizes.insert(sizes.end(), hidden.begin(), hidden.end());
  sizes.push_back(out);
  Mlp mlp{{}, nn::Activation::from(activation, device)};
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const double gain = i + 2 < sizes.size() ? std::numbers::sqrt2 : last_gain;
    mlp.layers.push_back(
        nn::LinearConfig{.in = sizes[i], .out = sizes[i + 1], .initializer = nn::init::Orthogonal{gain}}.init(device));
    mlp.layers.back().bias = mlp.layers.back().bias.with_value(zeros({sizes[i + 1]}, device));
  }
  return mlp;
}

Device device_of(const nn::ModuleView& model) {
  const std::vector<Device> devices = devices_of(model);
  require<ArgumentError>(!devices.empty(), "rl: a network has no parameters");
  return devices[0];
}

ParamValues moved_towards(const nn::ModuleView& target, const nn::ModuleView& online, double share) {
  const NoGrad pause;
  ParamValues values = values_of(online);
  if (share == 1) return values;
  const ParamValues before = values_of(target);
  for (auto& [path, value] : values) {
    const auto old = before.find(path);
    if (old != before.end() && is_float(value.dtype())) value = old->second + (value - old->second) * share;
  }
  return values;
}

Tensor<2> rows_of(std::span<const float> observations, std::size_t environments, const Device& device) {
  const auto count = static_cast<std::int64_t>(environments);
  return Tensor<2>::of(observations, {count, static_cast<std::int64_t>(observations.size()) / count}, device);
}

Tensor<1, Int> indices_of(const TensorData& rows, const Device& device) {
  const std::span<const float> numbers = rows.as<float>();
  const std::vector<std::int64_t> indices(numbers.begin(), numbers.end());
  return Tensor<1, Int>::of(indices, device);
}

Tensor<1> chosen(const Tensor<2>& x, const Tensor<1, Int>& index) { return x.gather(1, index.unsqueeze(1)).squeeze(1); }

std::vector<float> sampled_from(const Tensor<2>& logits, Random& random) {
  const std::vector<float> probabilities = logits.softmax(1).to_vector<float>();
  const auto count = static_cast<std::size_t>(logits.dim(1));
  std::vector<float> actions;
  for (std::size_t row = 0; row * count < probabilities.size(); ++row) {
    double left = random.uniform();
    std::size_t action = 0;
    while (action + 1 < count && (left -= static_cast<double>(probabilities[row * count + action])) >= 0) ++action;
    actions.push_back(static_cast<float>(action));
  }
  return actions;
}

std::vector<float> bounded(std::vector<float> actions, const Space& space) {
  if (space.is_discrete()) return actions;
  const auto size = static_cast<std::size_t>(space.size());
  for (std::size_t i = 0; i < actions.size(); ++i)
    actions[i] = std::clamp(actions[i], space.low()[i % size], space.high()[i % size]);
  return actions;
}

Bounds::Bounds(const Space& box) {
  for (std::size_t i = 0; i < box.low().size(); ++i) {
    centre.push_back((box.low()[i] + box.high()[i]) / 2);
    half.push_back((box.high()[i] - box.low()[i]) / 2);
  }
}
Tensor<2> Bounds::to_unit(const Tensor<2>& actions) const {
  return (actions - Tensor<1>::of(centre, actions.device())) / Tensor<1>::of(half, actions.device());
}
std::vector<float> Bounds::from_unit(std::vector<float> numbers) const {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t k = i % centre.size();
    numbers[i] = std::clamp(centre[k] + half[k] * numbers[i], centre[k] - half[k], centre[k] + half[k]);
  }
  return numbers;
}

TwinCritic<Mlp> twin_critic(const VectorEnvironment& worlds, const Device& device,
                            const std::vector<std::int64_t>& hidden) {
  const MlpConfig config{.in = worlds.observation_space().size() + worlds.action_space().size(),
                         .out = 1,
                         .hidden = hidden,
                         .activation = nn::Relu{}};
  return {config.init(device), config.init(device)};
}

TensorData normal_rows(std::int64_t count, std::int64_t size, Random& random) {
  TensorData data(Shape{count, size}, DType::F32);
  for (float& number : data.as<float>()) number = static_cast<float>(random.normal());
  return data;
}

void require_outputs(std::string_view agent, const Tensor<2>& outputs, std::int64_t wanted, std::string_view of_what) {
  require<ArgumentError>(outputs.dim(1) == wanted, agent, ": the network must give ", wanted, " ", of_what,
                         " for each state, and gives ", outputs.dim(1));
}
void require_discrete(std::string_view agent, const Space& actions) {
  require<ArgumentError>(actions.is_discrete(), agent, ": chooses one of several actions; these are ", actions,
                         ": take Sac or Td3");
}
void require_box(std::string_view agent, const Space& actions) {
  require<ArgumentError>(!actions.is_discrete(), agent, ": gives actions as real numbers; these are ", actions,
                         ": take Dqn or Ppo");
  for (const std::vector<float>* const bounds : {&actions.low(), &actions.high()})
    for (const float bound : *bounds)
      require<ArgumentError>(std::isfinite(bound), agent, ": the bounds of actions must be finite");
}

}  // namespace kiln::rl
