// The common parts of agents: a plain network, target networks, and rows of numbers as tensors.
#pragma once
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/nn/activation/choice.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/module/functional.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/rl/vector_environment.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/tensor.hpp"
#include "kiln/train/events.hpp"

namespace kiln::rl {

/// Layers with an activation between them.
struct Mlp {
  std::vector<nn::Linear> layers;
  nn::Activation activation;

  /// x [n, in] -> [n, out]
  Tensor<2> forward(const Tensor<2>& x) const;
};
struct MlpConfig {
  std::int64_t in, out;
  std::vector<std::int64_t> hidden = {64, 64};
  nn::ActivationConfig activation = nn::Tanh{};
  /// The weights of the layers are orthogonal, times sqrt(2), and those of the last layer times this: with small ones
  /// all first actions are alike (Andrychowicz et al., "What matters in on-policy reinforcement learning?", 2021).
  double last_gain = 1;

  /// Throws ArgumentError for a size below 1.
  Mlp init(const Device& device) const;
};

/// Computes V(x) + A(x) - mean A(x) from the features of x (Wang et al., "Dueling network architectures", 2016).
template <Module Body>
struct Duelling {
  Body body;  // [n, in] -> [n, features]
  nn::Linear value, advantage;

  Tensor<2> forward(const Tensor<2>& x) const {
    const Tensor<2> features = body.forward(x), advantages = advantage.forward(features);
    return value.forward(features) + advantages - advantages.mean(keep, 1);
  }
};

/// Returns the device of a model. Throws ArgumentError if it has no parameters.
Device device_of(const nn::ModuleView& model);

/// Moves each parameter and buffer of `target` towards that of `online` by this fraction of the difference: 1 makes a
/// copy. Records no gradients.
[[nodiscard("moved_towards() changes no model")]] ParamValues moved_towards(const nn::ModuleView& target,
                                                                            const nn::ModuleView& online, double share);
template <Module M>
[[nodiscard("moved_towards() changes no model: it returns one")]] M moved_towards(M target, const M& online,
                                                                                  double share) {
  const ParamValues values = moved_towards(nn::ModuleView(target), nn::ModuleView(online), share);
  return with_values(std::move(target), values);
}

/// Returns the environments' observations as rows on a device.
Tensor<2> rows_of(std::span<const float> observations, std::size_t environments, const Device& device);
inline Tensor<2> rows_of(const TensorData& rows, const Device& device) { return Tensor<2>::from_data(rows, device); }
inline Tensor<1> column_of(const TensorData& column, const Device& device) {
  return Tensor<1>::from_data(column, device);
}
/// Returns rows of one number as indices [n].
Tensor<1, Int> indices_of(const TensorData& rows, const Device& device);
/// Returns the element of each row that an index names: x [n, k], index [n] -> [n].
Tensor<1> chosen(const Tensor<2>& x, const Tensor<1, Int>& index);

/// Returns an index sampled from the distribution of each row of logits [n, k].
std::vector<float> sampled_from(const Tensor<2>& logits, Random& random);
/// Clamps numbers to the bounds of a box; discrete actions stay as they are.
std::vector<float> bounded(std::vector<float> actions, const Space& space);

/// Returns standard normal numbers.
TensorData normal_rows(std::int64_t count, std::int64_t size, Random& random);

/// Throws ArgumentError in the name of `agent` unless a network returns so many numbers for each row.
void require_outputs(std::string_view agent, const Tensor<2>& outputs, std::int64_t wanted, std::string_view of_what);
/// Tests the network with the current observations. Throws ArgumentError like require_outputs(), and ShapeError if the
/// network does not accept the observations.
template <Module Net>
void require_fitting(std::string_view agent, const Net& net, const VectorEnvironment& worlds, std::int64_t wanted,
                     std::string_view of_what) {
  const NoGrad pause;
  require_outputs(agent, net.forward(rows_of(worlds.observations(), worlds.count(), device_of(net))), wanted, of_what);
}
/// Throws ArgumentError in the name of `agent` for actions of the other kind.
void require_discrete(std::string_view agent, const Space& actions);
void require_box(std::string_view agent, const Space& actions);

/// Scales a box's actions to numbers from -1 to 1, as networks use them, and back.
struct Bounds {
  std::vector<float> centre, half;

  explicit Bounds(const Space& box);
  Tensor<2> to_unit(const Tensor<2>& actions) const;
  /// Returns [n * size] numbers from -1 to 1.
  std::vector<float> from_unit(std::vector<float> numbers) const;
};

/// Two networks that estimate the value of an action in a state; the lower one is used (Fujimoto et al., "Addressing
/// function approximation error in actor-critic methods", 2018).
template <Module Net>
struct TwinCritic {
  Net first, second;  // [n, seen + acted] -> [n, 1]

  /// Returns both values, [n] each; actions are scaled to [-1, 1].
  std::pair<Tensor<1>, Tensor<1>> forward(const Tensor<2>& seen, const Tensor<2>& actions) const {
    const Tensor<2> both = cat({seen, actions}, 1);
    return {first.forward(both).squeeze(1), second.forward(both).squeeze(1)};
  }
  Tensor<1> min_value(const Tensor<2>& seen, const Tensor<2>& actions) const {
    const auto [a, b] = forward(seen, actions);
    return minimum(a, b);
  }
};
TwinCritic<Mlp> twin_critic(const VectorEnvironment& worlds, const Device& device,
                            const std::vector<std::int64_t>& hidden = {256, 256});

/// The result of one update of a model: its loss, and other measurements.
struct Update {
  double loss = 0;
  std::vector<Reading> readings{};
};

}  // namespace kiln::rl
