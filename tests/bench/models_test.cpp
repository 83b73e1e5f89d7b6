// The suite's models are those of its peers, and learn.
#include <gtest/gtest.h>

#include "bench/models/gpt.hpp"
#include "bench/models/lstm.hpp"

namespace kiln::models {
namespace {

// Of bench/peers/torch_models.py, as PyTorch counts them.
TEST(Models, HaveAsManyParametersAsTheirPeers) {
  const Device device = Device::cpu();
  EXPECT_EQ(num_params(GptConfig{}.init(device)), 7'386'624);
  EXPECT_EQ(num_params(SequenceClassifierConfig{}.init(device)), 397'834);
}

/// The losses before the first and after the last of some steps on one batch.
template <class Model, class Loss>
std::pair<double, double> losses_of_training(Model model, const Loss& loss, int steps) {
  AdamW optimizer = AdamWConfig{}.init(model);
  const double before = loss(model).item();
  for (int step = 0; step < steps; ++step) {
    auto [error, grads] = value_and_grad(model, loss);
    model = optimizer.step(0.01, std::move(model), grads);
  }
  return {before, loss(model).item()};
}

TEST(Gpt, LearnsASequenceByHeart) {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  const GptConfig config{.vocabulary = 19, .context = 8, .width = 16, .heads = 2, .layers = 2};
  const auto tokens = randint({2, 8}, 0, 19, device);
  const auto next = tokens.roll(-1, 1).flatten();
  const auto loss = [&](const Gpt& gpt) {
    return nn::CrossEntropyLoss{}.forward(gpt.forward(tokens).flatten<0, 1>(), next);
  };
  const auto [before, after] = losses_of_training(config.init(device), loss, 60);
  EXPECT_GT(before, 2);  // of guesses: log(19) = 2.9 and more
  EXPECT_LT(after, 0.5);
}

TEST(SequenceClassifier, RemembersHowASequenceBegan) {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  const auto sequences = randn({16, 6, 2}, device);
  const Tensor<1, Int> began = (sequences.at(1, 0).at(1, 0) > 0).to_int();
  const SequenceClassifierConfig config{.in = 2, .hidden = 12, .classes = 2};
  const auto loss = [&](const SequenceClassifier& model) {
    return nn::CrossEntropyLoss{}.forward(model.forward(sequences), began);
  };
  const auto [before, after] = losses_of_training(config.init(device), loss, 80);
  EXPECT_GT(before, 0.5);  // log(2) = 0.69
  EXPECT_LT(after, 0.1);
}

}  // namespace
}  // namespace kiln::models
