// What layers compute, as seen from outside, against the same layers called by hand.
#include "kiln/nn/layer_outputs.hpp"

#include <gtest/gtest.h>

#include "kiln/kiln.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

/// The sentence of an error, without its kind.
template <class F>
std::string said_by(F&& call) {
  const std::string sentence = sentence_of(call);
  const std::size_t kind = sentence.find("Error: ");
  return kind == sentence.npos ? sentence : sentence.substr(kind + 7);
}

struct Block {
  nn::LayerNorm norm;
  nn::Linear up, down;
  Tensor<2> forward(const Tensor<2>& x) const { return x + down.forward(up.forward(norm.forward(x)).relu()); }
};
struct WatchedNet {
  nn::Linear stem;
  nn::BatchNorm batch;
  std::vector<Block> blocks;
  nn::Linear head;
  Tensor<2> forward(const Tensor<2>& x) const {
    Tensor<2> y = batch.forward(stem.forward(x)).relu();
    for (const Block& block : blocks) y = block.forward(y);
    return head.forward(y);
  }
};

struct Normed {
  nn::WeightNorm<nn::Linear> inner;
};

WatchedNet net() {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  const auto linear = [&](std::int64_t in, std::int64_t out) {
    return nn::LinearConfig{.in = in, .out = out}.init(device);
  };
  WatchedNet made{linear(3, 4), nn::BatchNormConfig{.channels = 4}.init(device), {}, linear(4, 2)};
  for (int i = 0; i < 2; ++i)
    made.blocks.push_back({nn::LayerNormConfig{.size = 4}.init(device), linear(4, 8), linear(8, 4)});
  return made;
}
Tensor<2> data() {
  return Tensor<2>::of({{1, 2, 3}, {-1, 0.5f, 2}, {0.25f, -3, 1}, {2, 2, -2}, {0, 1, 0}}, Device::cpu());
}
void expect_same(const Value& got, const Tensor<2>& wanted) {
  EXPECT_EQ(got.shape(), wanted.shape());
  EXPECT_EQ(got.data().to_vector<float>(), wanted.to_vector<float>());
}

TEST(WatchLayers, SeesWhatTheLayersGive) {
  for (const bool training : {true, false}) {
    const WatchedNet model = training ? train(net()) : valid(net());
    const auto [scores, outputs] = watch_layers(model, "**", [&] { return model.forward(data()); });
    const Tensor<2> stem = model.stem.forward(data());
    expect_same(outputs.at("stem"), stem);
    const Tensor<2> first = model.batch.forward(stem);
    expect_same(outputs.at("batch"), first);
    const Tensor<2> norm = model.blocks[0].norm.forward(first.relu());
    expect_same(outputs.at("blocks.0.norm"), norm);
    expect_same(outputs.at("blocks.0.up"), model.blocks[0].up.forward(norm));
    expect_same(outputs.at("blocks.0.down"), model.blocks[0].down.forward(model.blocks[0].up.forward(norm).relu()));
    expect_same(outputs.at("blocks.0"), model.blocks[0].down.forward(model.blocks[0].up.forward(norm).relu()));
    expect_same(outputs.at("head"), scores);
    EXPECT_EQ(outputs.by_path.size(), 11u);
  }
}

TEST(WatchLayers, ChoosesByPattern) {
  const WatchedNet model = net();
  const auto run = [&](std::string_view layers) {
    std::vector<std::string> paths;
    for (const auto& [path, value] : watch_layers(model, layers, [&] { return model.forward(data()); }).outputs.by_path)
      paths.push_back(path);
    return paths;
  };
  EXPECT_EQ(run("stem"), (std::vector<std::string>{"stem"}));
  EXPECT_EQ(run("blocks.*.up"), (std::vector<std::string>{"blocks.0.up", "blocks.1.up"}));
  EXPECT_EQ(said_by([&] { (void)run("stemm"); }),
            "watch_layers: 'stemm' matches no module with parameters (did you mean 'stem'?)");
  const auto one = watch_layers(model, "stem", [&] { return model.forward(data()); });
  EXPECT_EQ(said_by([&] { (void)one.outputs.at("head"); }), "layer outputs: 'head' was not watched, or not used");
}

TEST(WatchLayers, WithinAGradient) {
  const WatchedNet model = train(net());
  LayerOutputs kept;
  const auto [loss, grads] = value_and_grad(model, [&](const WatchedNet& m) {
    auto [scores, outputs] = watch_layers(m, "head", [&] { return m.forward(data()); });
    kept = outputs;
    return scores.square().mean();
  });
  EXPECT_TRUE(grads.find("head.weight"));
  double mean = 0;
  for (const float each : kept.at("head").data().to_vector<float>()) mean += each * each / 10.0;
  EXPECT_NEAR(loss.item(), mean, 1e-6);
}

TEST(WatchLayers, SeesWeightsThatAreComputed) {
  const Device device = Device::cpu().autodiff();
  const auto layer = nn::weight_norm(nn::LinearConfig{.in = 3, .out = 2}.init(device));
  const Normed model{layer};
  const auto seen = watch_layers(model, "inner", [&] { return model.inner.forward(data()); });
  expect_same(seen.outputs.at("inner"), seen.result);
}

}  // namespace
}  // namespace kiln
