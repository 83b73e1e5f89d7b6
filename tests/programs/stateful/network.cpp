#include "tests/programs/stateful/network.hpp"

#include <cmath>

#include "kiln/autodiff/checkpoint.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/view/assemble.hpp"

namespace kiln::stateful {
namespace {

Layer init(const LayerRecipe& r, const Device& device) {
  const auto conv = [&]<class Config>(Config config) -> Layer {
    config.in = r.in;
    config.out = r.out;
    config.kernel = {r.kernel};
    config.stride = {r.stride};
    config.padding = {r.padding};
    config.dilation = {r.dilation};
    config.groups = r.groups;
    config.bias = r.bias;
    return config.init(device);
  };
  switch (r.kind) {
    case Kind::Linear: return nn::LinearConfig{.in = r.in, .out = r.out, .bias = r.bias}.init(device);
    case Kind::Conv:
      return r.dimensions == 1   ? conv(nn::Conv1dConfig{})
             : r.dimensions == 2 ? conv(nn::Conv2dConfig{})
                                 : conv(nn::Conv3dConfig{});
    case Kind::ConvTranspose:
      return r.dimensions == 1   ? conv(nn::ConvTranspose1dConfig{})
             : r.dimensions == 2 ? conv(nn::ConvTranspose2dConfig{})
                                 : conv(nn::ConvTranspose3dConfig{});
    case Kind::BatchNorm: return nn::BatchNormConfig{.channels = r.in}.init(device);
    case Kind::GroupNorm:
      return GroupNorm{nn::Param<1>(ones({r.in}, device)), nn::Param<1>(zeros({r.in}, device)), r.groups};
    case Kind::LayerNorm: return nn::LayerNormConfig{.size = r.in}.init(device);
    case Kind::RmsNorm: return RmsNorm{nn::Param<1>(ones({r.in}, device))};
    case Kind::Attention:
      return Attention{
          nn::MultiHeadAttentionConfig{.width = r.in, .heads = r.groups, .dropout = r.probability}.init(device),
          r.causal};
    case Kind::Lstm: return nn::LstmConfig{.in = r.in, .hidden = r.out}.init(device);
    case Kind::Gru:
      return Gru{nn::LinearConfig{.in = r.in, .out = 3 * r.out}.init(device),
                 nn::LinearConfig{.in = r.out, .out = 3 * r.out}.init(device)};
    case Kind::Mlp:
      return Mlp(nn::LinearConfig{.in = r.in, .out = 2 * r.in}.init(device), nn::Gelu{.approximate = true},
                 nn::LinearConfig{.in = 2 * r.in, .out = r.out}.init(device));
    case Kind::Embedding: return nn::EmbeddingConfig{.count = r.in, .size = r.out}.init(device);
    case Kind::Dropout: return nn::Dropout{.probability = r.probability};
    default: return Plain{r};
  }
}

template <class F>
Value with_rank(const Value& x, F&& f) {
  switch (x.rank()) {
    case 2: return f(Tensor<2>(x));
    case 3: return f(Tensor<3>(x));
    case 4: return f(Tensor<4>(x));
    default: return f(Tensor<5>(x));
  }
}

/// Pools of as many dimensions as x has beside batch and channels.
template <int N>
Value pool(const LayerRecipe& r, const Value& x) {
  const Tensor<N + 2> images(x);
  if (r.kind == Kind::MaxPool)
    return nn::MaxPool<N>{.kernel = {r.kernel}, .stride = {r.stride}, .padding = {r.padding}}.forward(images).value();
  if (r.kind == Kind::AvgPool)
    return nn::AvgPool<N>{.kernel = {r.kernel}, .stride = {r.stride}, .padding = {r.padding}}.forward(images).value();
  return flatten(nn::AdaptiveAvgPool<N>{.sizes = {1}}.forward(images).value(), 1);
}

Value apply(const Plain& plain, const Value& x) {
  const auto through = [&](const auto& layer) {
    return with_rank(x, [&](const auto& tensor) -> Value { return layer.forward(tensor).value(); });
  };
  switch (plain.recipe.kind) {
    case Kind::Relu: return through(nn::Relu{});
    case Kind::Gelu: return through(nn::Gelu{});
    case Kind::Silu: return through(nn::Silu{});
    case Kind::Sigmoid: return through(nn::Sigmoid{});
    case Kind::Tanh: return through(nn::Tanh{});
    case Kind::Softmax: return through(nn::Softmax{});
    case Kind::Flatten: return flatten(x, 1);
    case Kind::MeanOfSizes: return mean(flatten(x, 2), {-1});
    case Kind::MaxPool:
    case Kind::AvgPool:
    case Kind::AdaptivePool:
      return x.rank() == 3   ? pool<1>(plain.recipe, x)
             : x.rank() == 4 ? pool<2>(plain.recipe, x)
                             : pool<3>(plain.recipe, x);
    case Kind::ToSequence: return transpose(x);
    case Kind::MeanOfTime: return mean(x, {1});
    default: return at(x, 1, -1);  // LastMoment
  }
}
template <class Module>
Value apply(const Module& module, const Value& x) {
  return with_rank(x, [&](const auto& tensor) -> Value { return module.forward(tensor).value(); });
}
template <int N>
Value apply(const nn::Conv<N>& conv, const Value& x) {
  return conv.forward(Tensor<N + 2>(x)).value();
}
template <int N>
Value apply(const nn::ConvTranspose<N>& conv, const Value& x) {
  return conv.forward(Tensor<N + 2>(x)).value();
}
Value apply(const GroupNorm& norm, const Value& x) {
  return group_norm(x, norm.groups, norm.weight.value(), norm.bias.value());
}
Value apply(const RmsNorm& norm, const Value& x) { return rms_norm(x, norm.weight.value()); }
Value apply(const Attention& attention, const Value& x) {
  return attention.heads.forward(Tensor<3>(x), {.causal = attention.causal}).value();
}
Value apply(const nn::Lstm& lstm, const Value& x) { return lstm.forward(Tensor<3>(x)).outputs.value(); }
Value apply(const Gru& gru, const Value& x) {
  const Value inputs = gru.input.forward(Tensor<3>(x)).value();  // [batch, time, 3 width]
  Tensor<2> hidden = Tensor<2>(zeros({x.dim(0), inputs.dim(2) / 3}, x.device(), x.dtype()));
  Values outputs;
  for (std::int64_t t = 0; t < x.dim(1); ++t) {
    const Values a = split(at(inputs, 1, t), hidden.dim(1), 1);
    const Values b = split(gru.hidden.forward(hidden).value(), hidden.dim(1), 1);
    const Value update = sigmoid(a[1] + b[1]);
    hidden = Tensor<2>((1 - update) * tanh(a[2] + sigmoid(a[0] + b[0]) * b[2]) + update * hidden.value());
    outputs.push_back(hidden.value());
  }
  return stack(outputs, 1);
}
Value apply(const nn::Embedding& embedding, const Value& x) { return embedding.forward(Tensor<2, Int>(x)).value(); }

Value run(const Recipe& recipe, const Network& network, Value x, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const Use& use = recipe.uses[i];
    const Value made = recipe.layers[use.layer].kind == Kind::Tied
                           ? linear(x, std::get<nn::Embedding>(network.layers[0]).weight.value(), {})
                           : std::visit([&](const auto& layer) { return apply(layer, x); }, network.layers[use.layer]);
    x = use.residual ? x + made : made;
  }
  return x;
}

}  // namespace

TensorData exact_numbers(const Shape& shape, double centre, double scale, Key key, double perturbation) {
  Random random(key), noise(key.split(1));
  const double unit = std::exp2(std::round(std::log2(scale))) / 64;
  std::vector<double> numbers(static_cast<std::size_t>(numel(shape)));
  for (double& number : numbers) {
    number = static_cast<double>(
        static_cast<float>(BF16(static_cast<float>(centre + unit * static_cast<double>(random.below(221) - 110)))));
    number *= 1 + perturbation * noise.uniform(-1, 1);
  }
  return TensorData::of<double>(shape, std::span<const double>(numbers));
}

Network make(const Recipe& recipe, const Device& device, DType dtype, Key key, double perturbation) {
  Network network;
  for (const LayerRecipe& layer : recipe.layers) network.layers.push_back(init(layer, device));
  std::uint64_t index = 0;
  visit_params(network, [&](const std::string& path, nn::AnyLeaf& param) {
    const Shape& shape = param.shape();
    const bool vector = shape.size() == 1;
    const std::int64_t fan_in = numel(shape) / shape[0];
    const double scale = vector ? 0.125 : 1 / std::sqrt(static_cast<double>(fan_in));
    const double centre = vector && path.ends_with("weight") ? 1 : 0;  // of a norm
    param.set(from_data(exact_numbers(shape, centre, scale, key.split(index++), perturbation).to(dtype), device));
  });
  if (dtype == DType::F64)
    visit_buffers(network, [&](const std::string&, nn::AnyLeaf& buffer) { buffer.set(cast(buffer.value(), dtype)); });
  return network;
}

Value forward(const Recipe& recipe, const Network& network, Value x, std::size_t split) {
  const std::size_t end = recipe.uses.size();
  if (split >= end) return run(recipe, network, std::move(x), 0, end);
  x = run(recipe, network, std::move(x), 0, split);
  return checkpoint([&recipe, &network, split, end](const Value& x) { return run(recipe, network, x, split, end); }, x);
}

}  // namespace kiln::stateful
