// Transformers against loops in float64, and token by token against the whole sequence; mixtures of experts.
#include "kiln/nn/transformer/transformer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/module.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"
#include "textbook.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

Tensor<3> sequence(std::int64_t batch, std::int64_t time, std::int64_t width = 8, double start = 0.5) {
  return sines_of<3>({batch, time, width}, 0.9, start);
}
Tensor<3> tensor_of(const Doubles& numbers, const Shape& shape) {
  return Tensor<3>(from_data(TensorData::of<double>(shape, numbers).to(DType::F32), cpu));
}

Doubles fed_forward(const nn::PositionWiseFeedForward& m, const Doubles& x) {
  Doubles hidden = through(m.inner, x);
  const Doubles gate = m.gate ? through(*m.gate, x) : Doubles();
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const double z = m.gate ? gate[i] : hidden[i];
    const double active = m.activation.get<nn::Gelu>() ? gelu_of(z) : z / (1 + std::exp(-z));
    hidden[i] = m.gate ? active * hidden[i] : active;
  }
  return through(m.outer, hidden);
}

TEST(PositionWiseFeedForward, MayHaveAGate) {
  cpu.seed(1);
  const auto x = sequence(2, 3);
  for (const bool gated : {false, true}) {
    const auto m = nn::PositionWiseFeedForwardConfig{.width = 8, .activation = nn::Silu{}, .gated = gated}.init(cpu);
    EXPECT_EQ(m.inner.weight.shape(), (Shape{32, 8}));
    expect_near(m.forward(x), fed_forward(m, doubles(x)));
  }
  EXPECT_THROW((nn::PositionWiseFeedForwardConfig{.width = 0}.init(cpu)), ArgumentError);
}

template <class Config>
Config with_norm_first(bool norm_first) {
  Config config{.width = 8, .heads = 2, .hidden = 12, .dropout = 0};
  config.norm_first = norm_first;
  config.context_width = 6;
  return config;
}

TEST(TransformerEncoderLayer, IsTheTextbooksWithNormsBeforeOrAfter) {
  cpu.seed(2);
  const auto x = sequence(2, 4);
  for (const bool first : {false, true}) {
    const auto m = with_norm_first<nn::TransformerEncoderLayerConfig>(first).init(cpu);
    const auto norm = [](const Doubles& y) { return layer_normed(y, 8); };
    const auto attend = [&](const Doubles& y) {
      const auto z = tensor_of(y, x.shape());
      return attended(m.attention, z, z, earlier, {});
    };
    Doubles y = doubles(x);
    if (first) {
      y = plus(y, attend(norm(y)));
      y = plus(y, fed_forward(m.feed_forward, norm(y)));
    } else {
      y = norm(plus(y, attend(y)));
      y = norm(plus(y, fed_forward(m.feed_forward, y)));
    }
    expect_near(m.forward(x, {.causal = true}), y);
  }
}

TEST(TransformerDecoderLayer, AsksItsContextInBetween) {
  cpu.seed(3);
  const auto x = sequence(2, 4), context = sequence(2, 5, 6, 0.2);
  for (const bool first : {false, true}) {
    const auto m = with_norm_first<nn::TransformerDecoderLayerConfig>(first).init(cpu);
    const auto norm = [](const Doubles& y) { return layer_normed(y, 8); };
    const auto attend = [&](const Doubles& y) {
      const auto z = tensor_of(y, x.shape());
      return attended(m.attention, z, z, earlier, {});
    };
    const auto ask = [&](const Doubles& y) {
      return attended(m.cross_attention, tensor_of(y, x.shape()), context, everything, {});
    };
    Doubles y = doubles(x);
    if (first) {
      y = plus(y, attend(norm(y)));
      y = plus(y, ask(norm(y)));
      y = plus(y, fed_forward(m.feed_forward, norm(y)));
    } else {
      y = norm(plus(y, attend(y)));
      y = norm(plus(y, ask(y)));
      y = norm(plus(y, fed_forward(m.feed_forward, y)));
    }
    expect_near(m.forward(x, context), y);
  }
}

nn::TransformerEncoderConfig gpt() {
  nn::TransformerEncoderConfig config{.layer = {.width = 8, .heads = 4}, .layers = 2};
  config.layer.norm_first = true;
  config.layer.norm = nn::RmsNormConfig{};
  config.layer.activation = nn::Silu{};
  config.layer.gated = true;
  config.layer.kv_heads = 2;
  config.layer.quiet = true;
  config.layer.rotary = nn::RotaryEncodingConfig{.length = 32};
  return config;
}

TEST(TransformerEncoder, TokenByTokenIsTheWholeSequence) {
  cpu.seed(4);
  for (const bool plain : {true, false}) {
    const auto config = plain ? nn::TransformerEncoderConfig{.layer = {.width = 8, .heads = 2}, .layers = 3} : gpt();
    const auto m = valid(config.init(cpu));
    EXPECT_EQ(m.norm.has_value(), !plain);
    const auto x = sequence(2, 6);
    const auto padding =
        Tensor<2, Bool>::of({{true, true, true, true, true, true}, {false, true, true, true, true, true}}, cpu);
    nn::TransformerCache cache = m.cache(2, 6);
    std::vector<Value> parts;
    for (std::int64_t at = 0; at < 6; ++at)
      parts.push_back(
          m.forward(x.narrow(1, at, 1), cache, {.causal = true, .padding = padding.narrow(1, 0, at + 1)}).value());
    expect_near(Tensor<3>(cat(parts, 1)), doubles(m.forward(x, {.causal = true, .padding = padding})));
    EXPECT_EQ(cache.length(), 6);
  }
}

TEST(TransformerDecoder, TokenByTokenIsTheWholeSequence) {
  cpu.seed(5);
  nn::TransformerDecoderConfig config{.layer = {.width = 8, .heads = 2}, .layers = 2};
  config.layer.norm_first = true;
  config.layer.alibi = true;
  const auto m = valid(config.init(cpu));
  const auto x = sequence(2, 4), context = sequence(2, 3, 8, 0.2);
  nn::DecoderOptions options;
  options.cross.padding = Tensor<2, Bool>::of({{true, true, true}, {true, true, false}}, cpu);
  const auto whole = m.forward(x, context, options);
  nn::TransformerCache cache = m.cache(context, 8);
  std::vector<Value> parts;
  for (std::int64_t at = 0; at < 4; ++at) parts.push_back(m.forward(x.narrow(1, at, 1), cache, options).value());
  expect_near(Tensor<3>(cat(parts, 1)), doubles(whole));

  // Both beams go on from what the second row has seen, its context included; the last two moments are taken back.
  cache.truncate(2);
  cache.reorder(Tensor<1, Int>::of({1, 1}, cpu));
  options.cross.padding = Tensor<2, Bool>::of({{true, true, false}, {true, true, false}}, cpu);
  const auto next = m.forward(x.narrow(1, 2, 1).narrow(0, 1, 1).expand(2, 1, 8), cache, options);
  expect_near(next.narrow(0, 0, 1), doubles(whole.narrow(0, 1, 1).narrow(1, 2, 1)));
  expect_near(next.narrow(0, 1, 1), doubles(whole.narrow(0, 1, 1).narrow(1, 2, 1)));
}

TEST(Transformer, HasRightGradients) {
  nn::TransformerEncoderConfig encoder = gpt();
  encoder.layer.dropout = 0;
  encoder.layer.width = 4;
  encoder.layer.heads = 2;
  encoder.layer.kv_heads = 1;
  encoder.layer.hidden = 4;
  encoder.layers = 1;
  expect_right_gradients(encoder.init(autodiff), [](const nn::TransformerEncoder& m) {
    return weighted(m.forward(input<3>({1, 3, 4}), {.causal = true}));
  });
  nn::TransformerDecoderConfig decoder{.layer = {.width = 4, .heads = 2, .hidden = 4, .dropout = 0}, .layers = 1};
  expect_right_gradients(decoder.init(autodiff), [](const nn::TransformerDecoder& m) {
    return weighted(m.forward(input<3>({1, 3, 4}), input<3>({1, 2, 4}) * 0.5));
  });
}

TEST(Transformer, DropsWhileItIsTrainedAlone) {
  cpu.seed(6);
  const auto m = nn::TransformerEncoderConfig{.layer = {.width = 8, .dropout = 0.3}, .layers = 1}.init(cpu);
  const auto x = sequence(1, 3);
  EXPECT_NE(m.forward(x).to_vector(), m.forward(x).to_vector());
  EXPECT_EQ(valid(m).forward(x).to_vector(), valid(m).forward(x).to_vector());
}

TEST(Transformer, IsReadFromAConfig) {
  const auto config = from_json<nn::TransformerEncoderConfig>(std::string_view(R"({
    "layer": {"width": 8, "heads": 2, "norm": "RmsNorm", "activation": {"Gelu": {"approximate": true}}, "window": 4,
              "norm_first": true, "rotary": {"scaling": {"Linear": {"factor": 2}}}},
    "layers": 2})"),
                                                              "model.json");
  const auto m = config.init(cpu);
  EXPECT_EQ(m.blocks.size(), 2u);
  EXPECT_NE(m.blocks[1].feed_forward_norm.get<nn::RmsNorm>(), nullptr);
  EXPECT_TRUE(m.blocks[0].feed_forward.activation.get<nn::Gelu>()->approximate);
  EXPECT_EQ(m.blocks[0].attention.window, 4);
  EXPECT_EQ(m.blocks[0].attention.rotary->cosine.shape(), (Shape{4096, 2}));
  std::string paths;
  visit_params(m, [&](const std::string& path, const auto&) { paths += path + '\n'; });
  EXPECT_NE(paths.find("blocks.1.attention.query.weight\n"), paths.npos) << paths;
  EXPECT_NE(paths.find("blocks.1.feed_forward_norm.weight\n"), paths.npos) << paths;
  EXPECT_NE(paths.find("\nnorm.weight\n"), paths.npos) << paths;
}

TEST(Transformer, SaysWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { nn::TransformerEncoderConfig{.layer = {.width = 8}, .layers = 0}.init(cpu); }),
            "ArgumentError: TransformerConfig: layers = 0 must be positive");
  const auto m = nn::TransformerEncoderConfig{.layer = {.width = 8}, .layers = 2}.init(cpu);
  nn::TransformerCache none;
  EXPECT_EQ(sentence_of([&] { return m.forward(sequence(1, 1), none); }),
            "ArgumentError: a transformer of 2 layers was given a cache of 0: create it with cache()");
}

TEST(MixtureOfExperts, AsksTheBestFewForEachToken) {
  cpu.seed(7);
  for (const bool normalized : {true, false}) {
    const auto m =
        nn::MixtureOfExpertsConfig{
            .expert = {.width = 4, .hidden = 6}, .experts = 5, .asked = 2, .normalized = normalized}
            .init(cpu);
    const auto x = sequence(2, 9, 4);
    const Doubles in = doubles(x), scores = through(m.router, in);
    Doubles right(in.size()), load(5), mean(5);
    for (std::size_t token = 0; token < 18; ++token) {
      Doubles shares(scores.begin() + static_cast<std::ptrdiff_t>(5 * token),
                     scores.begin() + static_cast<std::ptrdiff_t>(5 * token + 5));
      double total = 0;
      for (double& share : shares) total += share = std::exp(share);
      std::vector<std::size_t> order{0, 1, 2, 3, 4};
      for (double& share : shares) share /= total;
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
      for (std::size_t e = 0; e < 5; ++e) mean[e] += shares[e] / 18;
      load[order[0]] += 1.0 / 18;
      const double sum = normalized ? shares[order[0]] + shares[order[1]] : 1;
      const Doubles row(in.begin() + static_cast<std::ptrdiff_t>(4 * token),
                        in.begin() + static_cast<std::ptrdiff_t>(4 * token + 4));
      for (const std::size_t e : {order[0], order[1]}) {
        const Doubles said = fed_forward(m.experts[e], row);
        for (std::size_t i = 0; i < 4; ++i) right[4 * token + i] += shares[e] / sum * said[i];
      }
    }
    expect_near(m.forward(x), right);
    double balance = 0;
    for (std::size_t e = 0; e < 5; ++e) balance += 5 * load[e] * mean[e];
    EXPECT_NEAR(m.mix(Tensor<2>(reshape(x.value(), {18, 4}))).balance.item(), balance, 1e-5);
  }
}

TEST(MixtureOfExperts, HasRightGradients) {
  autodiff.seed(8);
  const auto m =
      nn::MixtureOfExpertsConfig{.expert = {.width = 3, .hidden = 2}, .experts = 3, .asked = 2}.init(autodiff);
  expect_right_gradients(m, [](const nn::MixtureOfExperts& mixture) {
    const auto [output, balance] = mixture.mix(input<2>({8, 3}) * 2.0);
    return weighted(output) + balance;
  });
  EXPECT_EQ(sentence_of([] { nn::MixtureOfExpertsConfig{.expert = {.width = 3}, .experts = 2, .asked = 3}.init(cpu); }),
            "ArgumentError: MixtureOfExpertsConfig: asked = 3 must be 1 to the number of experts, 2");
}

}  // namespace
}  // namespace kiln
