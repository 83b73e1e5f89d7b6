// Each layer against PyTorch 2.15 in float64 on the same sines (sines.hpp); its options are those of
// torch.nn.functional.
#include <algorithm>

#include <gtest/gtest.h>

#include "kiln/nn.hpp"

#include "sines.hpp"

namespace kiln {
namespace {

using nn::Param;

TEST(Linear, IsTheProductWithTheTransposedWeightPlusBias) {
  const nn::Linear layer{Param<2>(sines({2, 3}, .5, 1)), Param<1>(sines({2}, .9, 2))};
  expect_values(layer.forward(sines_of<2>({2, 3})), {2, 2}, {1.883135, 0.05375161, 3.530473, 0.5786395});
}

TEST(Linear, TreatsAllLeadingDimensionsAlike) {
  const nn::Linear layer{Param<2>(sines({2, 3}, .5, 1)), Param<1>(sines({2}, .9, 2))};
  const auto rows = sines_of<2>({4, 3});
  const Tensor<2> expected = layer.forward(rows);
  const Tensor<4> batched = layer.forward(rows.reshape(2, 1, 2, 3));
  EXPECT_EQ(batched.shape(), (Shape{2, 1, 2, 2}));
  EXPECT_EQ(batched.to_vector(), expected.to_vector());
  const Tensor<1> single = layer.forward(Tensor<1>(sines({3})));
  EXPECT_EQ(single.to_vector(), (std::vector<float>{expected.to_vector()[0], expected.to_vector()[1]}));
  EXPECT_EQ(layer.forward(sines_of<3>({0, 5, 3})).shape(), (Shape{0, 5, 2}));
}

TEST(Conv, MatchesPyTorchInOneTwoAndThreeDimensions) {
  const nn::Conv1d conv1{.weight = Param<3>(sines({2, 2, 3}, .5, 1)),
                         .bias = Param<1>(sines({2}, .9, 2)),
                         .stride = {2},
                         .padding = {1},
                         .dilation = {}};
  expect_values(conv1.forward(sines_of<3>({1, 2, 5})), {1, 2, 3},
                {1.094347, 3.187967, 2.738039, -0.2047505, -2.222051, -1.487206});
  const nn::Conv2d conv2{.weight = Param<4>(sines({2, 1, 3, 3}, .5, 1)),
                         .bias = Param<1>(sines({2}, .9, 2)),
                         .stride = {},
                         .padding = {},
                         .dilation = {},
                         .groups = 2};
  expect_values(conv2.forward(sines_of<4>({1, 2, 4, 4})), {1, 2, 2, 2},
                {2.889859, 4.631978, 6.255751, 5.350805, 3.541485, 2.715474, -1.120714, -2.272536});
  const nn::Conv3d conv3{
      .weight = Param<5>(sines({2, 1, 2, 2, 2}, .5, 1)), .bias = {}, .stride = {}, .padding = {}, .dilation = {}};
  expect_values(conv3.forward(sines_of<5>({1, 1, 3, 3, 3})), {1, 2, 2, 2, 2},
                {3.632376, 4.289616, 3.851981, 2.816339, -4.035823, -4.403764, -3.382429, -2.131387, -2.658777,
                 -3.690511, -4.183464, -3.577963, 3.239293, 4.030225, 3.942452, 3.075626});
}

TEST(ConvTranspose, MatchesPyTorch) {
  const nn::ConvTranspose2d layer{.weight = Param<4>(sines({1, 2, 3, 3}, .5, 1)),
                                  .bias = Param<1>(sines({2}, .9, 2)),
                                  .stride = {2, 2},
                                  .padding = {1, 1},
                                  .dilation = {},
                                  .result_padding = {1, 1}};
  expect_values(layer.forward(sines_of<4>({1, 1, 2, 2})), {1, 2, 4, 4},
                {0.9092974, 1.125714,  0.9603286, 0.7824488, 1.581896,   2.002459,   1.449262,   1.376992,
                 1.004453,  1.208819,  1.035698,  0.5951014, 0.2501607,  -0.4151606, 0.03372499, 0.05039021,
                 0.2392493, 0.4768258, 0.5784446, 0.5970165, 0.05084284, 0.04109586, 0.1380056,  0.4047562,
                 0.8717314, 1.494824,  1.079415,  1.125416,  0.5171358,  0.9037797,  0.6083833,  0.1719366});
}

TEST(ConvConfig, GivesEveryDimensionASingleEntryAndShapesTheWeightByGroups) {
  const auto layer =
      nn::Conv2dConfig{.in = 4, .out = 6, .kernel = {3, 5}, .stride = {2}, .groups = 2}.init(Device::cpu());
  EXPECT_EQ(layer.weight.shape(), (Shape{6, 2, 3, 5}));
  EXPECT_EQ(layer.bias.shape(), (Shape{6}));
  EXPECT_EQ(layer.stride, (Spatial{2, 2}));
  EXPECT_EQ(layer.padding, (Spatial{0, 0}));
  const auto transposed =
      nn::ConvTranspose1dConfig{.in = 4, .out = 6, .kernel = {3}, .groups = 2, .bias = false}.init(Device::cpu());
  EXPECT_EQ(transposed.weight.shape(), (Shape{4, 3, 3}));
  EXPECT_TRUE(transposed.bias.empty());
}

nn::BatchNorm batch_norm() {
  nn::BatchNorm layer = nn::BatchNormConfig{.channels = 2}.init(Device::cpu());
  layer.weight = Param<1>(Tensor<1>::of({1.5, -0.5}, Device::cpu()));
  layer.bias = Param<1>(Tensor<1>::of({0.25, 2}, Device::cpu()));
  return layer;
}

TEST(BatchNorm, TrainsByTheBatchsStatisticsAndRemembersThem) {
  const nn::BatchNorm layer = batch_norm();
  const auto x = sines_of<3>({2, 2, 3});
  expect_values(layer.forward(x), {2, 2, 3},
                {-2.054754, -0.08376779, 1.620455, 1.551405, 1.484646, 1.507706, 2.286929, 0.8015515, -1.070413,
                 2.273082, 2.501343, 2.681817});
  expect_values(layer.running_mean.value(), {2}, {0.04228516, 0.02225095});
  expect_values(layer.running_var.value(), {2}, {0.9090873, 0.9675583});
  expect_values(valid(layer).forward(x), {2, 2, 3},
                {0.1834767, 0.7523729, 1.244272, 1.556017, 1.505094, 1.522684, 1.43664, 1.007907, 0.4675921, 2.106514,
                 2.280632, 2.418298});
}

TEST(BatchNorm, ACopyHasStatisticsOfItsOwn) {
  const nn::BatchNorm layer = batch_norm();
  const auto copy = nn::BatchNorm(layer);
  copy.forward(sines_of<2>({4, 2}));
  EXPECT_EQ(layer.running_mean.get().to_vector(), (std::vector<float>{0, 0}));
  EXPECT_NE(copy.running_mean.get().to_vector(), (std::vector<float>{0, 0}));
}

TEST(BatchNorm, OnlyReadsItsStatisticsInValidMode) {
  const nn::BatchNorm layer = valid(batch_norm());
  layer.forward(sines_of<4>({1, 2, 1, 1}));
  EXPECT_EQ(layer.running_var.get().to_vector(), (std::vector<float>{1, 1}));
}

TEST(LayerNorm, MatchesPyTorch) {
  const nn::LayerNorm layer{.weight = Param<1>(Tensor<1>::of({1, 2, 3, 4}, Device::cpu())),
                            .bias = Param<1>(Tensor<1>::of({.5, 0, -.5, 1}, Device::cpu()))};
  expect_values(layer.forward(sines_of<2>({2, 4})), {2, 4},
                {-0.9318389, -0.71924, 1.202437, 5.895919, 1.446255, 1.521325, -0.8680559, -5.336929});
}

TEST(Embedding, LooksUpRows) {
  const nn::Embedding layer{Param<2>(Tensor<2>::of({{1, 2}, {3, 4}, {5, 6}}, Device::cpu()))};
  const Tensor<3> y = layer.forward(Tensor<2, Int>::of({{2, 0}, {0, 1}}, Device::cpu()));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(y.to_vector(), (std::vector<float>{5, 6, 1, 2, 1, 2, 3, 4}));
  EXPECT_THROW(layer.forward(Tensor<1, Int>::of({3}, Device::cpu())).to_vector(), IndexError);
}

TEST(Activations, MatchPyTorch) {
  const auto x = sines_of<1>({4}, 1.1, .3);
  expect_values(nn::Gelu{}.forward(x), {4}, {0.1821001, 0.8256082, 0.4340345, -0.1456141});
  expect_values(nn::Gelu{.approximate = true}.forward(x), {4}, {0.1820977, 0.8254606, 0.4340018, -0.1456251});
  expect_values(nn::Silu{}.forward(x), {4}, {0.1694356, 0.7175929, 0.3861981, -0.1730877});
  expect_values(nn::Sigmoid{}.forward(x), {4}, {0.573347, 0.7281882, 0.6453067, 0.3911406});
  expect_values(nn::Tanh{}.forward(x), {4}, {0.2872077, 0.7554154, 0.5359615, -0.4157315});
  expect_values(nn::Relu{}.forward(Tensor<1>::of({-1, 0, 2}, Device::cpu())), {3}, {0, 0, 2});
  const auto y = sines_of<2>({2, 3});
  expect_values(nn::Softmax{}.forward(y), {2, 3}, {0.2273615, 0.3264108, 0.4462277, 0.3151446, 0.3483521, 0.3365033});
  expect_values(nn::LogSoftmax{.dim = 0}.forward(y), {2, 3},
                {-1.238098, -1.059745, -0.8469009, -0.3423991, -0.4254801, -0.5599136});
}

TEST(Pools, MatchPyTorch) {
  expect_values(nn::MaxPool2d{.kernel = {2}, .stride = {2, 1}, .padding = {0, 1}}.forward(sines_of<4>({1, 1, 4, 5})),
                {1, 1, 2, 6},
                {0.9612752, 0.9612752, 0.7965655, 0.8956987, 0.9958808, 0.9958808, -0.5298361, -0.3552536, 0.00681464,
                 0.3679605, 0.6793047, 0.6793047});
  expect_values(nn::AvgPool1d{.kernel = {3}, .stride = {2}, .padding = {1}}.forward(sines_of<3>({1, 1, 7})), {1, 1, 4},
                {0.1205385, 0.6438673, 0.9509516, 0.5859469});
  expect_values(nn::AdaptiveAvgPool2d{.sizes = {3, 2}}.forward(sines_of<4>({1, 1, 5, 4})), {1, 1, 3, 2},
                {0.5796929, 0.7226491, -0.001318851, -0.2619634, -0.5767024, -0.1286556});
}

TEST(Dropout, ZeroesTheShareThatItNamesAndKeepsTheMean) {
  const Device device = Device::cpu();
  device.seed(7);
  const auto ones = Tensor<1>::ones({20'000}, device);
  const std::vector<float> y = nn::Dropout{.probability = 0.25}.forward(ones).to_vector();
  const auto zeroed = std::count(y.begin(), y.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(zeroed) / 20'000, 0.25, 0.02);  // five standard deviations are 0.015
  for (const float value : y) EXPECT_TRUE(value == 0 || std::abs(value - 4.0f / 3) < 1e-6f) << value;
}

TEST(Dropout, DoesNothingInValidMode) {
  const auto x = sines_of<1>({100});
  EXPECT_EQ(valid(nn::Dropout{.probability = 0.9}).forward(x).to_vector(), x.to_vector());
}

TEST(Sequential, RunsItsLayersInOrder) {
  const nn::Sequential layers(nn::Relu{}, nn::AdaptiveAvgPool1d{.sizes = {1}}, nn::Tanh{});
  expect_values(layers.forward(Tensor<3>(from_data(TensorData::of<float>({1, 1, 2}, {-1, 1}), Device::cpu()))),
                {1, 1, 1}, {0.46211716});  // tanh((0 + 1) / 2)
}

// torch.nn.MultiheadAttention(4, 2, batch_first=True) with in_proj_weight sines (12, 4) .31 .2, in_proj_bias sines (12)
// .8 .1, out_proj.weight sines (4, 4) .43 .6, out_proj.bias sines (4) .6 .4.
nn::MultiHeadAttention attention() {
  const Value weights = sines({12, 4}, .31, .2), biases = sines({12}, .8, .1);
  const auto projection = [&](std::int64_t index) {
    return nn::Linear{Param<2>(narrow(weights, 0, index * 4, 4)), Param<1>(narrow(biases, 0, index * 4, 4))};
  };
  return {.query = projection(0),
          .key = projection(1),
          .value = projection(2),
          .output = {Param<2>(sines({4, 4}, .43, .6)), Param<1>(sines({4}, .6, .4))},
          .dropout = {.probability = 0},
          .heads = 2};
}

TEST(MultiHeadAttention, MatchesPyTorch) {
  const auto x = sines_of<3>({1, 3, 4}, .9, .5);
  expect_values(attention().forward(x), {1, 3, 4},
                {4.467579, 0.08048487, -2.852345, 2.714663, 3.21052, 0.022945, -1.578179, 2.393392, 3.212738, -1.191479,
                 -1.219348, 3.501134});
  expect_values(attention().forward(x, {.causal = true}), {1, 3, 4},
                {3.024613, -1.854468, -0.834115, 4.049593, 4.99046, 0.04462922, -3.364566, 2.902803, 3.212738,
                 -1.191479, -1.219348, 3.501134});
  expect_values(attention().forward(x, sines_of<3>({1, 2, 4}, .6, .1)), {1, 3, 4},
                {3.808209, -2.368669, -1.464838, 4.75131, 3.014541, 1.078423, -1.695995, 1.372941, 3.909833, -2.340728,
                 -1.574769, 4.756051});
}

}  // namespace
}  // namespace kiln
