#include "tests/onnx/save_samples.hpp"

#include <memory>

#include "kiln/nn.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx::test {
namespace {

Value noise(const Shape& shape, const Device& device, std::uint64_t seed = 1) {
  return normal(shape, 0, 1, device, DType::F32, Key(seed));
}

const std::vector<FreeDim> kBatch = {{"batch", 0, 0}};

// A model of a function of its own, kept alive by the sample.
template <int D, class M, class F>
Sample model_sample(std::string name, M model, Value example, Value other, F forward) {
  const auto kept = std::make_shared<M>(std::move(model));
  Sample sample{std::move(name),
                [kept, forward](const Values& in) { return forward(*kept, Tensor<D>(in[0])); },
                {std::move(example)}};
  sample.options.model = nn::view_of(*kept);
  if (!other.empty()) {
    sample.options.free = kBatch;
    sample.others = {std::move(other)};
  }
  return sample;
}

struct Mlp {
  nn::Linear first, second;
  Tensor<2> forward(const Tensor<2>& x) const { return second.forward(first.forward(x).relu()); }
};

struct ConvNet {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm norm;
  nn::Linear head;
  Tensor<2> forward(const Tensor<4>& x) const {
    Value y = relu(norm.forward(conv1.forward(x)).value());
    y = max_pool(y, {.kernel = {2, 2}});
    y = gelu(conv2.forward(Tensor<4>(y)).value());
    y = flatten(adaptive_avg_pool(y, {1, 1}), 1);
    return head.forward(Tensor<2>(y));
  }
};

void add_models(std::vector<Sample>& list, const Device& d) {
  d.seed(7);
  const auto forward = [](const auto& model, const auto& x) { return Values{model.forward(x).value()}; };
  list.push_back(model_sample<2>(
      "mlp", Mlp{nn::LinearConfig{.in = 6, .out = 16}.init(d), nn::LinearConfig{.in = 16, .out = 3}.init(d)},
      noise({4, 6}, d), noise({7, 6}, d, 2), forward));
  ConvNet net{nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3, 3}, .padding = {1, 1}}.init(d),
              nn::Conv2dConfig{.in = 8, .out = 12, .kernel = {3, 3}, .stride = {2, 2}, .groups = 2}.init(d),
              nn::BatchNormConfig{.channels = 8}.init(d), nn::LinearConfig{.in = 12, .out = 5}.init(d)};
  net.forward(Tensor<4>(noise({3, 1, 12, 12}, d, 3)));  // so that the statistics are no zeros and ones
  net = kiln::valid(std::move(net));
  list.push_back(model_sample<4>("conv_net", net, noise({2, 1, 12, 12}, d), noise({5, 1, 12, 12}, d, 2), forward));
  list.push_back(model_sample<3>(
      "transformer",
      kiln::valid(nn::TransformerEncoderLayerConfig{.width = 16, .heads = 4, .activation = nn::Gelu{}}.init(d)),
      noise({2, 5, 16}, d), noise({3, 5, 16}, d, 2), forward));
  list.push_back(model_sample<3>(
      "causal_transformer",
      kiln::valid(nn::TransformerEncoderLayerConfig{.width = 16,
                                                    .heads = 4,
                                                    .norm_first = true,
                                                    .norm = nn::RmsNormConfig{},
                                                    .activation = nn::Silu{},
                                                    .gated = true,
                                                    .kv_heads = 2}
                      .init(d)),
      noise({2, 5, 16}, d), noise({4, 5, 16}, d, 2),
      [](const auto& model, const Tensor<3>& x) { return Values{model.forward(x, {.causal = true}).value()}; }));
  const auto recurrent = [](const auto& model, const Tensor<3>& x) {
    const auto result = model.forward(x);
    return Values{result.outputs.value()};
  };
  list.push_back(model_sample<3>(
      "lstm", kiln::valid(nn::LstmConfig{.in = 5, .hidden = 7, .layers = 2, .bidirectional = true}.init(d)),
      noise({2, 6, 5}, d), noise({3, 6, 5}, d, 2), recurrent));
  list.push_back(model_sample<3>("gru", kiln::valid(nn::GruConfig{.in = 5, .hidden = 7}.init(d)), noise({2, 6, 5}, d),
                                 noise({3, 6, 5}, d, 2), recurrent));
  list.push_back(model_sample<3>("rnn", kiln::valid(nn::RnnConfig{.in = 5, .hidden = 7}.init(d)), noise({2, 6, 5}, d),
                                 noise({3, 6, 5}, d, 2), recurrent));
}

void add_programs(std::vector<Sample>& list, const Device& d) {
  const auto add = [&](std::string name, std::function<Values(const Values&)> function, Values examples) {
    list.push_back({std::move(name), std::move(function), std::move(examples)});
  };
  const Value x = noise({2, 3, 4}, d), image = noise({2, 4, 6, 6}, d);
  const Value index = from_data(TensorData::of<std::int64_t>({2, 2}, {0, 2, 1, 1}), d);
  const Value table = noise({10, 4}, d, 5);
  add("views",
      [](const Values& in) {
        const Value& v = in[0];
        return Values{
            narrow(v, 1, 1, 2),
            flip(v, {2}),
            slice(v, std::vector<Range>{{}, {2, {}, -2}, {1, 4, 2}}),
            expand(unsqueeze(v, 1), {2, 5, 3, 4}),
            pad(v, {0, 1, 0}, {0, 2, 1}, 0.5),
            unfold(v, 2, 2, 1),
            stack(Values{v, v * 2}, 1),
            permute(v, {2, 0, 1}),
            slice_assign(v, std::vector<Range>{{}, {0, 3, 2}}, v.shape().empty() ? v : narrow(v, 1, 0, 2) * 3)};
      },
      {x});
  add("reductions",
      [](const Values& in) {
        const Value& v = in[0];
        return Values{sum(v, {1}),        mean(v),         max(v, {0, 2}),     prod(v, {2}),
                      argmax(v, 2),       cumsum(v, 1),    any(gt(v, 0), {1}), softmax(v, 1),
                      log_softmax(v, -1), variance(v, {2})};
      },
      {x});
  add("indexing",
      [table](const Values& in) {
        return Values{select(table, 0, in[1]), gather(in[0], 1, select(in[1], 1, in[1] * 0)),
                      select_add(in[0], 1, at(in[1], 0, 0), narrow(in[0], 1, 0, 2) * 2), one_hot(in[1], 3)};
      },
      {x, index});
  add("orders",
      [](const Values& in) {
        const auto [values, places] = topk(in[0], 2, 1, true);
        return Values{values, places};
      },
      {x});
  add("spatial",
      [d](const Values& in) {
        const Value up = noise({4, 2, 3, 3}, d, 8), bias = noise({2}, d, 9);
        return Values{conv_transpose(in[0], up, bias, {.stride = {2, 2}, .padding = {1, 1}}, {1, 1}),
                      avg_pool(in[0], {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_padding = false}),
                      max_pool(in[0], {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
                      adaptive_avg_pool(in[0], {3, 2})};
      },
      {image});
  add("norms",
      [d](const Values& in) {
        const Value w = noise({4}, d, 11), b = noise({4}, d, 12);
        return Values{group_norm(in[0], 2, w, b), instance_norm(in[0], w, b), layer_norm(in[1], w, b, 1e-5),
                      rms_norm(in[1], w, 1e-6), layer_norm(in[1], 1, 1e-5)};
      },
      {image, x});
  add("masked_attention",
      [](const Values& in) {
        const Value mask = lt(in[3], 0.5);
        return Values{attention(in[0], in[1], in[2], {.scale = 0.3}, mask),
                      attention(in[0], in[1], in[2], {.window = 2}), attention(in[0], in[1], in[2], {}, {}, in[3])};
      },
      {noise({2, 4, 3, 8}, d), noise({2, 2, 5, 8}, d, 2), noise({2, 2, 5, 8}, d, 3), noise({2, 1, 3, 5}, d, 4)});
  add("integers",
      [](const Values& in) {
        const Value& i = in[0];
        return Values{floor_divide(i, 2), remainder(i, 3), maximum(i, 1), cast(i, DType::F32) / 3,
                      where(gt(i, 0), i, -1)};
      },
      {index});
  for (const DType half : {DType::F16, DType::BF16}) {
    const Value w = cast(noise({4, 4}, d, 13), half), b = cast(noise({4}, d, 14), half);
    add(half == DType::F16 ? "halves" : "brain_halves",
        [w, b](const Values& in) {
          const Value y = relu(matmul(in[0], w) + b);
          return Values{y, softmax(y, -1), cast(y, DType::F32) * 2, layer_norm(in[0], b, b, 1e-3),
                        rms_norm(in[0], b, 1e-3)};
        },
        {cast(x, half)});
  }
  add("constants",
      [](const Values& in) {
        return Values{in[0] + arange(0, 4, 1, in[0].device(), DType::F32), full({2, 3}, 7, in[0].device()), in[0]};
      },
      {x});
  // A length and a batch that are free, with positions counted inside.
  list.push_back({"free_sizes",
                  [](const Values& in) {
                    const std::int64_t batch = in[0].dim(0), time = in[0].dim(1);
                    const Value places = arange(0, time, 1, in[0].device(), DType::F32);
                    const Value moved = in[0] + reshape(places, {1, time, 1});
                    const Value heads = permute(reshape(moved, {batch, time, 2, 2}), {0, 2, 1, 3});
                    const Value y = attention(heads, heads, heads, {.causal = true});
                    return Values{reshape(permute(y, {0, 2, 1, 3}), {batch * time, 4}), at(moved, 1, -1),
                                  narrow(moved, 1, 1, time - 1)};
                  },
                  {noise({2, 3, 4}, d)},
                  {.free = {{"batch", 0, 0}, {"time", 0, 1}}},
                  {noise({3, 6, 4}, d, 2)}});
}

}  // namespace

std::vector<Sample> samples(const Device& device) {
  std::vector<Sample> list;
  add_models(list, device);
  add_programs(list, device);
  return list;
}

}  // namespace kiln::onnx::test
