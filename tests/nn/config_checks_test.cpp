// Each option of each layer's config left out, 0, negative, infinite and no number.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/nn.hpp"
#include "tests/support/config_checks.hpp"

namespace kiln {
namespace {

using config_checks::expect_checked_from_json_too;

Device device() { return Device::cpu().autodiff(); }

/// 1, 2, 3, ... over 8, of any shape.
template <int D>
Tensor<D> counted(const Shape& shape) {
  std::int64_t count = 1;
  for (int i = 0; i < D; ++i) count *= shape[i];
  std::vector<float> numbers;
  for (std::int64_t i = 1; i <= count; ++i) numbers.push_back(static_cast<float>(i) / 8);
  return Tensor<D>::of(numbers, shape, Device::cpu());
}
template <int D>
bool is_result(const Tensor<D>& y) {
  bool some = false;
  for (const float x : y.template to_vector<float>()) {
    if (!std::isfinite(x)) return false;
    some = some || x != 0;
  }
  return some;
}
/// Numbers, which may all be 0: weights of 0 are what somebody may want.
template <int D>
bool all_finite(const Tensor<D>& y) {
  for (const float x : y.template to_vector<float>())
    if (!std::isfinite(x)) return false;
  return true;
}
/// Of the config itself, and of those of its parts that tell what is wrong with an option of theirs.
template <class C>
std::vector<std::string> names_of(std::vector<std::string> more) {
  std::string own(reflect::type_name<C>());
  for (const char* const part : {"KaimingUniform", "Normal", "XavierUniform", "LinearConfig", "RotaryEncoding",
                                 "dropout", "attention", "TransformerConfig"})
    more.emplace_back(part);
  more.insert(more.begin(), own.substr(0, own.find('<')));  // "ConvConfig" of ConvConfig<2>
  return more;
}

/// init() and one forward pass, with what runs where it is trained.
template <class C, class F>
void expect_layer_checked(const C& good, const F& forward, std::vector<std::string> more = {}) {
  expect_checked_from_json_too(
      "init", good,
      [&](const C& config) {
        device().seed(1);
        return all_finite(forward(config, train(config.init(device()))));
      },
      names_of<C>(std::move(more)));
}

TEST(ConfigChecks, OfLinearLayers) {
  expect_layer_checked(nn::LinearConfig{.in = 3, .out = 2},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<2>({2, c.in})); });
  expect_layer_checked(nn::BilinearConfig{.in_a = 3, .in_b = 2, .out = 2}, [](const auto& c, const auto& layer) {
    return layer.forward(counted<2>({2, c.in_a}), counted<2>({2, c.in_b}));
  });
  expect_layer_checked(nn::PReluConfig{.count = 3},
                       [](const auto&, const auto& layer) { return layer.forward(counted<2>({2, 3})); });
  expect_layer_checked(nn::SwiGluConfig{.in = 3, .out = 2},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<2>({2, c.in})); });
}

TEST(ConfigChecks, OfInitializers) {
  for (const nn::Initializer initializer :
       {nn::Initializer(nn::init::KaimingUniform{}), nn::Initializer(nn::init::KaimingNormal{}),
        nn::Initializer(nn::init::XavierUniform{}), nn::Initializer(nn::init::XavierNormal{}),
        nn::Initializer(nn::init::Uniform{.low = 0.5, .high = 1}), nn::Initializer(nn::init::Normal{}),
        nn::Initializer(nn::init::TruncatedNormal{}), nn::Initializer(nn::init::Orthogonal{}),
        nn::Initializer(nn::init::Sparse{}), nn::Initializer(nn::init::Constant{.value = 1})})
    std::visit(
        [&]<class I>(const I& good) {
          // A number or 0: weights of 0 are what somebody may want.
          config_checks::expect_checked("initialize", good,
                                        [](const I& option) {
                                          const Tensor<2> drawn(nn::initialize(option, {4, 4}, {4, 4}, Device::cpu()));
                                          for (const float x : drawn.to_vector<float>())
                                            if (!std::isfinite(x)) return false;
                                          return true;
                                        },
                                        {std::string(reflect::type_name<I>()), "uniform", "normal"});
        },
        initializer);
}

TEST(ConfigChecks, OfConvolutions) {
  expect_layer_checked(nn::Conv2dConfig{.in = 2,
                                        .out = 4,
                                        .kernel = {3},
                                        .stride = {1},
                                        .padding = {1},
                                        .dilation = {1},
                                        .padding_after = {1},
                                        .groups = 2},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<4>({1, c.in, 6, 6})); },
                       {"Conv2d"});
  expect_layer_checked(nn::ConvTranspose2dConfig{.in = 2,
                                                 .out = 4,
                                                 .kernel = {3},
                                                 .stride = {2},
                                                 .padding = {1},
                                                 .dilation = {1},
                                                 .padding_after = {1},
                                                 .result_padding = {1},
                                                 .groups = 2},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<4>({1, c.in, 6, 6})); },
                       {"ConvTranspose2d"});
  expect_layer_checked(
      nn::DeformConv2dConfig{.in = 2, .out = 4, .kernel = {3}, .stride = {1}, .dilation = {1}, .groups = 2},
      [](const auto& c, const auto& layer) {
        return layer.forward(counted<4>({1, c.in, 6, 6}), counted<4>({1, 18, 4, 4}));
      },
      {"DeformConv2d", "deform_conv2d"});
  expect_layer_checked(
      nn::ConvLstm2dConfig{.in = 2, .hidden = 3, .stride = {1}},
      [](const auto& c, const auto& layer) { return layer.forward(counted<5>({1, 2, c.in, 4, 4})).outputs; },
      {"ConvConfig", "Conv2d", "ConvLstm"});
}

TEST(ConfigChecks, OfEmbeddings) {
  const auto tokens = Tensor<2, Int>::of({{1, 2}}, Device::cpu());
  expect_layer_checked(nn::EmbeddingConfig{.count = 5, .size = 3, .padding_index = 0},
                       [&](const auto&, const auto& layer) { return layer.forward(tokens); });
  expect_layer_checked(nn::EmbeddingBagConfig{.count = 5, .size = 3, .padding_index = 0},
                       [&](const auto&, const auto& layer) { return layer.forward(tokens); });
}

TEST(ConfigChecks, OfNorms) {
  expect_layer_checked(nn::BatchNormConfig{.channels = 3}, [](const auto& c, const auto& layer) {
    layer.forward(counted<2>({2, c.channels}));
    return valid(layer).forward(counted<2>({2, c.channels}));
  });
  expect_layer_checked(nn::LayerNormConfig{.size = 3},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<2>({2, c.size})); });
  expect_layer_checked(nn::RmsNormConfig{.size = 3},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<2>({2, c.size})); });
  expect_layer_checked(nn::GroupNormConfig{.groups = 2, .channels = 4},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<3>({2, c.channels, 4})); });
  expect_layer_checked(nn::InstanceNormConfig{.channels = 3},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<3>({2, c.channels, 4})); });
}

TEST(ConfigChecks, OfRecurrentLayers) {
  const auto through = [](const auto& c, const auto& layer) { return layer.forward(counted<3>({2, 3, c.in})).outputs; };
  expect_layer_checked(nn::LstmConfig{.in = 3, .hidden = 4, .layers = 2, .dropout = 0.1, .projection = 2, .clip = 1.0},
                       through);
  expect_layer_checked(nn::GruConfig{.in = 3, .hidden = 4, .layers = 2, .dropout = 0.1, .clip = 1.0}, through);
  expect_layer_checked(nn::RnnConfig{.in = 3, .hidden = 4, .layers = 2, .dropout = 0.1, .clip = 1.0}, through);
  expect_layer_checked(nn::LstmCellConfig{.in = 3, .hidden = 4, .projection = 2},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<2>({2, c.in})).hidden; });
  expect_layer_checked(nn::GruCellConfig{.in = 3, .hidden = 4},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<2>({2, c.in})); });
  expect_layer_checked(nn::RnnCellConfig{.in = 3, .hidden = 4},
                       [](const auto& c, const auto& layer) { return layer.forward(counted<2>({2, c.in})); });
  expect_layer_checked(nn::GateControllerConfig{.in = 3, .out = 4}, [](const auto& c, const auto& layer) {
    return layer.forward(counted<2>({2, c.in}), counted<2>({2, c.out}));
  });
}

TEST(ConfigChecks, OfAttention) {
  const auto through = [](const auto& c, const auto& layer) { return layer.forward(counted<3>({2, 3, c.width})); };
  expect_layer_checked(nn::PositionalEncodingConfig{.width = 4, .length = 8, .dropout = 0.1}, through);
  expect_layer_checked(nn::LearnedPositionsConfig{.length = 8, .width = 4}, through);
  expect_layer_checked(nn::RotaryEncodingConfig{.width = 4, .length = 8},
                       [](const auto&, const auto& layer) { return layer.forward(counted<4>({2, 2, 3, 4})); });
  expect_layer_checked(nn::MultiHeadAttentionConfig{.width = 8,
                                                    .heads = 2,
                                                    .dropout = 0.1,
                                                    .kv_heads = 1,
                                                    .head_width = 4,
                                                    .softcap = 5,
                                                    .window = 2,
                                                    .rotary = nn::RotaryEncodingConfig{.width = 4, .length = 8}},
                       through, {"RotaryEncodingConfig"});
}

TEST(ConfigChecks, OfTransformers) {
  const auto through = [](const auto& c, const auto& layer) { return layer.forward(counted<3>({2, 3, c.width})); };
  expect_layer_checked(nn::PositionWiseFeedForwardConfig{.width = 4, .hidden = 8, .dropout = 0.1}, through);
  expect_layer_checked(
      nn::MixtureOfExpertsConfig{.expert = {.width = 4, .hidden = 8, .dropout = 0.1}, .experts = 4, .asked = 2},
      [](const auto& c, const auto& layer) { return layer.forward(counted<3>({2, 3, c.expert.width})); },
      {"PositionWiseFeedForwardConfig"});
  const std::vector<std::string> parts = {"MultiHeadAttentionConfig", "PositionWiseFeedForwardConfig",
                                          "RotaryEncodingConfig", "LayerNormConfig", "TransformerLayerConfig"};
  const nn::TransformerEncoderLayerConfig layer = {.width = 8,
                                                   .heads = 2,
                                                   .hidden = 16,
                                                   .kv_heads = 1,
                                                   .head_width = 4,
                                                   .softcap = 5,
                                                   .window = 2,
                                                   .rotary = nn::RotaryEncodingConfig{.width = 4, .length = 8}};
  expect_layer_checked(layer, through, parts);
  expect_layer_checked(
      nn::TransformerDecoderLayerConfig{.width = 8, .heads = 2, .context_width = 4},
      [](const auto& c, const auto& made) {
        return made.forward(counted<3>({2, 3, c.width}), counted<3>({2, 3, c.context_width == 0 ? 8 : 4}));
      },
      parts);
  std::vector<std::string> of_stack = parts;
  of_stack.push_back("TransformerStackConfig");
  expect_layer_checked(
      nn::TransformerEncoderConfig{.layer = {.width = 8, .heads = 2}, .layers = 2},
      [](const auto& c, const auto& made) { return made.forward(counted<3>({2, 3, c.layer.width})); }, of_stack);
}

/// Layers whose options are their fields.
template <class L, class F>
void expect_options_checked(const L& good, const F& forward, std::vector<std::string> more) {
  config_checks::expect_checked(
      "forward", good, [&](const L& layer) { return is_result(forward(layer)); }, names_of<L>(std::move(more)));
}

TEST(ConfigChecks, OfDropout) {
  const auto through = [](const auto& layer) { return layer.forward(counted<4>({2, 3, 4, 4})) + 1; };
  expect_options_checked(nn::Dropout{.probability = 0.25}, through, {"dropout"});
  expect_options_checked(nn::ChannelDropout<2>{.probability = 0.25}, through, {"dropout"});
  expect_options_checked(nn::AlphaDropout{.probability = 0.25}, through, {"dropout"});
  expect_options_checked(nn::DropPath{.probability = 0.25}, through, {"drop_path"});
  expect_options_checked(nn::GaussianNoise{}, through, {"normal"});
}

TEST(ConfigChecks, OfPools) {
  const auto through = [](const auto& layer) { return layer.forward(counted<4>({2, 3, 4, 4})); };
  expect_options_checked(
      nn::MaxPool<2>{.kernel = {2}, .stride = {2}, .padding = {1}, .dilation = {1}, .padding_after = {1}}, through,
      {"max_pool", "MaxPool2d"});
  expect_options_checked(nn::AvgPool<2>{.kernel = {2}, .stride = {2}, .padding = {1}, .padding_after = {1}}, through,
                         {"avg_pool", "AvgPool2d"});
  expect_options_checked(nn::LpPool<2>{.kernel = {2}, .stride = {2}}, through, {"lp_pool", "avg_pool", "LpPool2d"});
  expect_options_checked(nn::AdaptiveAvgPool<2>{.sizes = {2}}, through, {"adaptive_avg_pool", "AdaptiveAvgPool2d"});
  expect_options_checked(nn::AdaptiveMaxPool<2>{.sizes = {2}}, through, {"adaptive_max_pool", "AdaptiveMaxPool2d"});
}

}  // namespace
}  // namespace kiln
