// The smaller models: of texts, and of a few numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/nn/gradients.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/tensor/loss.hpp"
#include "kiln/tensor/random.hpp"
#include "models/language/tagger.hpp"
#include "models/language/text_classifier.hpp"
#include "models/regressor.hpp"
#include "tests/data/raised.hpp"

namespace kiln::models {
namespace {

using test::raised;
using testing::HasSubstr;

TEST(TextClassifier, SeesNoPadding) {
  Device::cpu().seed(3);
  const TextClassifier model = valid(
      TextClassifierConfig{.vocabulary = 9, .classes = 3, .context = 8, .width = 8, .heads = 2}.init(Device::cpu()));
  const auto logits = [&](std::vector<std::int64_t> ids) {
    const auto count = static_cast<std::int64_t>(ids.size());
    return model.forward(Tensor<2, Int>::of(ids, {1, count}, Device::cpu())).to_vector();
  };
  const auto plain = logits({4, 7, 2}), behind = logits({4, 7, 2, 0, 0});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(plain[i], behind[i], 1e-5);
  const auto nothing = logits({0, 0}), bias = model.head.bias.to_vector();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(nothing[i], bias[i], 1e-6);
  EXPECT_EQ(raised<ArgumentError>([&] { logits({1, 1, 1, 1, 1, 1, 1, 1, 1}); }),
            "TextClassifier: 9 words do not fit the model's context of 8");
  EXPECT_THAT(raised<IndexError>([&] { logits({9}); }), HasSubstr("9"));
}

TEST(Tagger, LearnsWhatDependsOnBothSides) {
  // The tag of a word is whether the word before is smaller than the one behind; ends count as 0.
  const Device device = Device::cpu();
  device.seed(2);
  Tagger model =
      train(TaggerConfig{.vocabulary = 6, .tags = 2, .width = 12, .hidden = 16, .dropout = 0}.init(device.autodiff()));
  Adam optimizer = AdamConfig{}.init(model);
  constexpr std::int64_t kRows = 32, kTime = 7;
  const auto batch = [&](std::uint64_t seed) {
    Random random(seed);
    std::vector<std::int64_t> ids(kRows * kTime), tags(kRows * kTime, -1), lengths(kRows);
    for (std::int64_t row = 0; row < kRows; ++row) {
      lengths[static_cast<std::size_t>(row)] = 3 + random.below(kTime - 2);
      const auto at = [&](std::vector<std::int64_t>& all, std::int64_t i) -> std::int64_t& {
        return all[static_cast<std::size_t>(row * kTime + i)];
      };
      const std::int64_t length = lengths[static_cast<std::size_t>(row)];
      for (std::int64_t i = 0; i < length; ++i) at(ids, i) = random.below(6);
      for (std::int64_t i = 0; i < length; ++i)
        at(tags, i) = (i ? at(ids, i - 1) : 0) < (i + 1 < length ? at(ids, i + 1) : 0);
    }
    const auto tensor = [&](const auto& numbers) { return Tensor<2, Int>::of(numbers, {kRows, kTime}, device); };
    return std::tuple(tensor(ids), Tensor<1, Int>::of(lengths, device), tensor(tags));
  };
  for (std::uint64_t step = 0; step < 150; ++step) {
    const auto [ids, lengths, tags] = batch(step + 1);
    auto [loss, grads] = value_and_grad(model, [&](const Tagger& m) { return m.loss(ids, lengths, tags); });
    model = optimizer.step(2e-2, std::move(model), grads);
  }
  const auto [ids, lengths, tags] = batch(0);
  const Tensor<2, Int> guesses = valid(model).forward(ids, lengths).argmax(2);
  const std::int64_t right = guesses.eq(tags).to_int().sum().item(), all = lengths.sum().item();
  EXPECT_GT(static_cast<double>(right), 0.97 * static_cast<double>(all));
}

TEST(Regressor, FitsAProduct) {
  const Device device = Device::cpu();
  device.seed(4);
  Regressor model = train(RegressorConfig{.features = 2, .hidden = {32, 32}}.init(device.autodiff()));
  Adam optimizer = AdamConfig{}.init(model);
  const Tensor<2> x = uniform({256, 2}, -1, 1, device, Key{1});
  const Tensor<1> y = x.prod(1);
  for (int step = 0; step < 200; ++step) {
    auto [loss, grads] = value_and_grad(model, [&](const Regressor& m) { return mse_loss(m.forward(x), y); });
    model = optimizer.step(1e-2, std::move(model), grads);
  }
  const Tensor<2> other = uniform({256, 2}, -1, 1, device, Key{2});
  const float error = mse_loss(valid(model).forward(other), other.prod(1)).item();
  EXPECT_LT(error, 2e-3f);  // the product's variance is 1 / 9
}

}  // namespace
}  // namespace kiln::models
