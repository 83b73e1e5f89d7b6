#include "kiln/nn/transformer/feed_forward.hpp"

#include "kiln/ops/index/index.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln::nn {
namespace {

Value through(const Linear& layer, const Value& x) { return linear(x, layer.weight.value(), layer.bias.value()); }

}  // namespace

Value PositionWiseFeedForward::apply(const Value& x) const {
  const Value hidden =
      gate ? activation.apply(through(*gate, x)) * through(inner, x) : activation.apply(through(inner, x));
  return through(outer, dropout.apply(hidden));
}

PositionWiseFeedForward PositionWiseFeedForwardConfig::init(const Device& device) const {
  require<ArgumentError>(width > 0 && hidden >= 0, "PositionWiseFeedForwardConfig: width = ", width,
                         " and hidden = ", hidden, " must be positive");
  const std::int64_t between = hidden ? hidden : 4 * width;
  const auto layer = [&](std::int64_t in, std::int64_t out) {
    return LinearConfig{.in = in, .out = out, .bias = bias, .initializer = initializer}.init(device);
  };
  PositionWiseFeedForward module{.inner = layer(width, between), .outer = layer(between, width)};
  if (gated) module.gate = layer(width, between);
  module.activation = Activation::from(activation, device);
  module.dropout.probability = dropout;
  return module;
}

Value MixtureOfExperts::rows(const Value& x) {
  require<ShapeError>(x.rank() >= 1 && x.dim(-1) > 0, "MixtureOfExperts: needs [..., width], got ", x.shape());
  return reshape(x, {x.numel() / x.dim(-1), x.dim(-1)});
}

MixtureResult MixtureOfExperts::mix(const Tensor<2>& x) const {
  const auto count = static_cast<std::int64_t>(experts.size());
  require<ArgumentError>(asked > 0 && asked <= count, "MixtureOfExperts: ", asked, " of ", count,
                         " experts cannot be selected");
  require_of<ShapeError>({&router.weight.value()}, router.weight.dim(0) == count, "MixtureOfExperts: the router knows ",
                         router.weight.dim(0), " experts, and there are ", count);
  const Value shares = softmax(through(router, x.value()), -1);  // [tokens, experts]
  const auto [best, who] = topk(shares, asked, -1);              // [tokens, asked]
  const Value weights = normalized ? best / sum(best, {-1}, true) : best;

  Value output = zeros_like(x.value());
  for (std::int64_t expert = 0; expert < count; ++expert) {
    const Values places = nonzero(eq(who, expert));  // which token, and which of its experts this is
    if (places[0].dim(0) == 0) continue;
    const Value said = experts[static_cast<std::size_t>(expert)].apply(select(x.value(), 0, places[0]));
    const Value weight = gather_nd(weights, stack(places, 1));
    output = select_add(output, 0, places[0], cast(said * unsqueeze(weight, 1), output.dtype()));
  }
  const Value load = mean(cast(one_hot(at(who, 1, 0), count), shares.dtype()), {0});
  const Value balance = sum(load * mean(shares, {0})) * static_cast<double>(count);
  return {Typed{output}, Typed{balance}};
}

MixtureOfExperts MixtureOfExpertsConfig::init(const Device& device) const {
  require<ArgumentError>(asked > 0 && asked <= experts, "MixtureOfExpertsConfig: asked = ", asked,
                         " must be 1 to the number of experts, ", experts);
  require<ArgumentError>(expert.width > 0, "MixtureOfExpertsConfig: the experts' width = ", expert.width,
                         " must be positive");
  MixtureOfExperts module;
  module.router = LinearConfig{.in = expert.width, .out = experts, .bias = false}.init(device);
  for (std::int64_t i = 0; i < experts; ++i) module.experts.push_back(expert.init(device));
  module.asked = asked;
  module.normalized = normalized;
  return module;
}

}  // namespace kiln::nn
