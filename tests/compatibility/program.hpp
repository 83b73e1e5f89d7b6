// The program whose files an earlier version of Kiln wrote (write.cpp) and the present one reads (compatibility_test.cpp).
// Both compile this text, so it uses nothing that is newer than the version that wrote the files.
#pragma once
#include <cmath>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kiln/core/config/config.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/nn.hpp"
#include "kiln/nn/module/average.hpp"
#include "kiln/optim.hpp"
#include "kiln/optim/config.hpp"
#include "kiln/store/graph_file.hpp"
#include "kiln/store/record.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/attention.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/train/early_stopping.hpp"
#include "kiln/train/learner.hpp"

namespace kiln::test {

/// Parameters, buffers, a mode, an absent part and a tied weight.
struct Net {
  nn::Conv<2> conv;
  nn::BatchNorm norm;
  nn::Dropout dropout;
  nn::Linear hidden, output;
  std::vector<nn::Linear> tied;  // its only layer has the weight of `hidden`

  Tensor<2> forward(const Tensor<4>& x) const {
    const Tensor<2> features = dropout.forward(norm.forward(conv.forward(x)).relu().flatten<1>());
    return output.forward(tied[0].forward(hidden.forward(features).tanh()));
  }
};

inline Net net(const Device& device) {
  device.seed(11);
  const nn::LinearConfig square{.in = 8, .out = 8};
  Net net{.conv = nn::ConvConfig<2>{.in = 1, .out = 2, .kernel = {3, 3}, .stride = {2, 2}}.init(device),
          .norm = nn::BatchNormConfig{.channels = 2}.init(device),
          .dropout = {.probability = 0.25},
          .hidden = square.init(device),
          .output = nn::LinearConfig{.in = 8, .out = 3, .bias = false}.init(device),
          .tied = {square.init(device)}};
  net.tied[0].weight = net.hidden.weight;
  return net;
}

struct Example {
  float phase;
};
struct Examples {
  std::vector<float> phases;
};

/// Pictures of waves [batch, 1, 6, 6] and what is to be found: their phases' sine, cosine and product [batch, 3].
inline RegressionOutput learn(const Net& model, Examples batch) {
  std::vector<float> pixels, targets;
  for (const float phase : batch.phases) {
    for (int i = 0; i < 36; ++i) pixels.push_back(std::sin(phase + 0.4F * static_cast<float>(i % 6 + 2 * (i / 6))));
    targets.insert(targets.end(), {std::sin(phase), std::cos(phase), std::sin(phase) * std::cos(phase)});
  }
  const auto count = static_cast<std::int64_t>(batch.phases.size());
  const Tensor<4> x = Tensor<4>::of(pixels, {count, 1, 6, 6}, Device::cpu());
  const Tensor<2> y = Tensor<2>::of(targets, {count, 3}, Device::cpu()), found = model.forward(x);
  return {(found - y).square().mean(), found, y};
}

inline DataLoader<Examples> examples() {
  std::vector<Example> all;
  for (int i = 0; i < 12; ++i) all.push_back({0.5F * static_cast<float>(i)});
  const auto batched = [](std::span<const Example> some) {
    Examples batch;
    for (const Example& each : some) batch.phases.push_back(each.phase);
    return batch;
  };
  return DataLoader(in_memory(all), batched, LoaderConfig{.batch_size = 4, .shuffle = true, .seed = 5});
}

/// Trains for so many epochs in all, continues from the newest checkpoint in `directory`, and returns the model.
inline Net trained(const std::filesystem::path& directory, std::int64_t epochs) {
  const Net start = net(Device::cpu().autodiff());
  auto data = examples();
  Learner learner(start, AdamWConfig{.weight_decay = 0.01}.init(start), learn,
                  LearnerConfig{.epochs = epochs, .seed = 3});
  learner.schedule(CosineConfig{.peak = 0.02, .warmup = 2, .steps = 20});
  learner.average(EmaConfig{.decay = 0.5});
  learner.checkpoints(directory, {.every_steps = 2, .last = 1});
  learner.add(EarlyStopping{.split = "train", .patience = 50});
  (void)learner.fit(data);
  return learner.result();
}

/// A loss of some of the weights alone, for steps of an optimizer.
inline Tensor<0> size_of(const Net& model) {
  return model.hidden.weight.square().sum() + model.output.weight.sin().sum() + model.conv.weight.cos().sum();
}

/// Operations of many kinds: of pictures x [2, 1, 6, 6] and a table [5, 4].
inline std::tuple<Tensor<2>, Tensor<2>, Tensor<1, Int>> program(const Net& model, const Tensor<4>& x,
                                                                const Tensor<2>& table) {
  const Tensor<4> q = table.reshape(1, 1, 5, 4);
  const Tensor<2> mixed = attention(q, q * 0.5, q.cos()).reshape(5, 4).cumsum(0).erf();
  const Tensor<2> products = mixed.matmul(table.transpose());
  return {model.forward(x).softmax(1), products.sort(1).values.pow(2.0) + 1, products.argmax(1)};
}
inline Tensor<4> pictures(const Device& device) { return linspace(-1, 1, 72, device).reshape(2, 1, 6, 6); }
inline Tensor<2> table(const Device& device) { return linspace(-2, 3, 20, device).reshape(5, 4); }

/// Calls f(name, config) for configs of many kinds.
template <class F>
void each_config(F&& f) {
  f("Linear", nn::LinearConfig{.in = 3, .out = 4, .bias = false});
  f("Conv", nn::ConvConfig<2>{.in = 3, .out = 4, .kernel = {3, 5}, .stride = {2, 1}, .groups = 1});
  f("BatchNorm", nn::BatchNormConfig{.channels = 7, .momentum = 0.2});
  f("LayerNorm", nn::LayerNormConfig{.size = 7});
  f("Embedding", nn::EmbeddingConfig{.count = 9, .size = 5});
  f("Lstm", nn::LstmConfig{.in = 3, .hidden = 4, .layers = 2, .bidirectional = true, .clip = 3.0});
  f("TransformerEncoderLayer", nn::TransformerEncoderLayerConfig{
                                   .width = 8, .heads = 2, .norm_first = true, .activation = nn::Relu{}, .window = 5});
  f("Adam", AdamConfig{.beta1 = 0.8, .amsgrad = true});
  f("Muon", MuonConfig{.nesterov = false});
  f("Optimizer", OptimizerConfig{.rule = SgdConfig{.momentum = 0.9},
                                 .groups = std::vector<GroupConfig>{{.params = Selector::rank(0, 1), .rate = 0.1}},
                                 .clip = {.global_norm = 1.0}});
  f("Cosine", CosineConfig{.peak = 0.1, .warmup = 3, .steps = 50});
  f("OneCycle", OneCycleConfig{.peak = 0.1, .steps = 50});
  f("Ema", EmaConfig{.decay = 0.9, .warmup = true});
  f("Learner", LearnerConfig{.epochs = 3, .accumulate = 2, .autocast = DType::BF16});
}

}  // namespace kiln::test
