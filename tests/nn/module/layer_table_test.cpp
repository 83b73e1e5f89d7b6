// The table of a model's layers: against counts by hand.
#include "kiln/nn/module/layer_table.hpp"

#include <gtest/gtest.h>

#include "kiln/kiln.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

struct Net {
  nn::Conv2d conv;
  nn::Linear head;
  nn::Dropout dropout{0.5};

  Tensor<2> forward(const Tensor<4>& x) const {
    return head.forward(dropout.forward(conv.forward(x).relu().mean(2, 3)));
  }
};
Net make_net(const Device& on) {
  return {.conv = nn::Conv2dConfig{.in = 3, .out = 8, .kernel = {3}}.init(on),
          .head = nn::LinearConfig{8, 10}.init(on)};
}

TEST(LayerTable, CountsWhatLayersGiveAndCost) {
  for (const Device& on : {cpu, autodiff}) {
    const LayerTable table = layer_table(freeze(make_net(on), "conv"), ones({2, 3, 8, 8}, on));
    ASSERT_EQ(table.rows.size(), 4u) << text(table);
    const LayerRow &conv = table.rows[0], &relu = table.rows[1], &mean = table.rows[2], &head = table.rows[3];
    EXPECT_EQ(conv.path, "conv");
    EXPECT_EQ(conv.output, Shape({2, 8, 6, 6}));
    EXPECT_EQ(conv.parameters, 8 * 3 * 3 * 3 + 8);
    EXPECT_EQ(conv.flops, 2.0 * (2 * 8 * 6 * 6) * (3 * 3 * 3));
    EXPECT_EQ(conv.bytes, 4 * 2 * 8 * 6 * 6);
    EXPECT_EQ(relu.type, "relu");
    EXPECT_EQ(relu.path, "");
    EXPECT_EQ(relu.flops, 0);
    EXPECT_EQ(relu.bytes, 4 * 2 * 8 * 6 * 6);
    EXPECT_EQ(mean.output, Shape({2, 8, 1, 1}));  // what is computed, before it is looked at as [2, 8]
    EXPECT_EQ(head.path, "head");
    EXPECT_EQ(head.type, "Linear");
    EXPECT_EQ(head.output, Shape({2, 10}));
    EXPECT_EQ(head.parameters, 90);
    EXPECT_EQ(head.flops, 2.0 * 2 * 8 * 10);
    EXPECT_EQ(table.parameters, 224 + 90);
    EXPECT_EQ(table.trained, 90);
    EXPECT_EQ(table.parameter_bytes, 4 * (224 + 90));
    EXPECT_EQ(table.flops(), conv.flops + head.flops);
  }
}

TEST(LayerTable, IsAText) {
  const std::string found = summary(make_net(autodiff), ones({2, 3, 8, 8}, autodiff));
  EXPECT_TRUE(found.starts_with("layer")) << found;
  EXPECT_NE(found.find("314 parameters (1.2 KiB), 314 trained; 31.42 k FLOPs; results of "), std::string::npos)
      << found;
}

struct Shared {
  nn::Linear layer, other;
  Tensor<2> forward(const Tensor<2>& x) const { return other.forward(layer.forward(layer.forward(x).tanh()).tanh()); }
};

TEST(LayerTable, CountsParametersOnceWhereTheyAreUsedTwice) {
  Shared model{nn::LinearConfig{4, 4}.init(autodiff), nn::LinearConfig{4, 4}.init(autodiff)};
  model.other.weight = model.layer.weight;
  const LayerTable table = layer_table(model, ones({1, 4}, autodiff));
  std::int64_t parameters = 0;
  for (const LayerRow& row : table.rows) parameters += row.parameters;
  EXPECT_EQ(parameters, 16 + 4 + 4) << text(table);
  EXPECT_EQ(table.parameters, 16 + 4 + 4);
}

TEST(LayerTable, TakesResultsOfSeveralTensors) {
  const nn::Lstm lstm = nn::LstmConfig{.in = 3, .hidden = 2}.init(autodiff);
  const LayerTable table = layer_table(lstm, ones({2, 5, 3}, autodiff));
  EXPECT_EQ(table.parameters, num_params(lstm));
  EXPECT_GT(table.flops(), 2.0 * 2 * 5 * 4 * 2 * (3 + 2) - 1) << text(table);
}

}  // namespace
}  // namespace kiln
