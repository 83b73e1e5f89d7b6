// What a language model says, learns and refuses.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/nn/gradients.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "models/language/gpt2.hpp"
#include "models/language/sampling.hpp"
#include "tests/data/raised.hpp"
#include "tests/models/language/published.hpp"

namespace kiln::models {
namespace {

using test::raised;
using testing::HasSubstr;

TEST(CausalLm, GoesOnGreedilyAsItsLogitsSay) {
  const PublishedModel files = gpt2_files();
  const CausalLm model = valid(load_gpt2(files.folder, Device::cpu()));
  const auto said = generate(model, batch_of({3, 18, 5, 1}, 2), {.tokens = 5, .sampling = {.temperature = 0}});
  std::vector<std::vector<std::int64_t>> texts = {{3, 18}, {5, 1}};
  for (std::vector<std::int64_t>& text : texts)
    for (int i = 0; i < 5; ++i) {
      const Tensor<3> logits = model.forward(batch_of(text, 1));
      text.push_back(logits.narrow(1, logits.dim(1) - 1, 1).flatten().argmax().item());
    }
  for (std::size_t row = 0; row < 2; ++row)
    EXPECT_EQ(said[row], std::vector<std::int64_t>(texts[row].begin() + 2, texts[row].end()));
}

TEST(CausalLm, SaysTheSameForASeedAndEndsAtAStop) {
  const PublishedModel files = gpt2_files();
  const CausalLm model = valid(load_gpt2(files.folder, Device::cpu()));
  const auto say = [&](std::uint64_t seed, std::optional<std::int64_t> stop) {
    return generate(model, batch_of({3, 18}, 1),
                    {.tokens = 10, .sampling = {.temperature = 2}, .seed = seed, .stop = stop})[0];
  };
  const std::vector<std::int64_t> said = say(7, {});
  ASSERT_EQ(said.size(), 10u);
  EXPECT_EQ(say(7, {}), said);
  EXPECT_NE(say(8, {}), said);
  const auto end = std::find(said.begin(), said.end(), said[4]);
  EXPECT_EQ(say(7, said[4]), std::vector<std::int64_t>(said.begin(), end));
}

TEST(CausalLm, LearnsACycle) {
  const Gpt2Config config{.vocabulary = 5, .context = 8, .width = 16, .heads = 2, .layers = 1, .dropout = 0};
  const Device device = Device::cpu();
  device.seed(1);
  CausalLm model = train(config.init(device.autodiff()));
  Adam optimizer = AdamConfig{}.init(model);
  const auto cycle = batch_of({0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4}, 5);  // from each beginning
  const Tensor<2, Int> after = (cycle + 1).remainder(5);
  for (int step = 0; step < 60; ++step) {
    auto [loss, grads] = value_and_grad(model, [&](const CausalLm& m) { return m.loss(cycle, after); });
    model = optimizer.step(1e-2, std::move(model), grads);
  }
  EXPECT_EQ(generate(valid(model), batch_of({2}, 1), {.tokens = 3, .sampling = {.temperature = 0}})[0],
            (std::vector<std::int64_t>{3, 4, 0}));
}

TEST(CausalLm, SaysWhatDoesNotFit) {
  const PublishedModel files = gpt2_files();
  const CausalLm model = load_gpt2(files.folder, Device::cpu());
  const auto ids = [](std::int64_t count) { return Tensor<2, Int>::zeros({1, count}, Device::cpu()); };
  EXPECT_EQ(raised<ArgumentError>([&] { model.forward(ids(13)); }), "13 tokens do not fit the model's context of 12");
  EXPECT_EQ(raised<ArgumentError>([&] { model.forward(ids(0)); }), "a language model needs at least one token");
  EXPECT_EQ(raised<ArgumentError>([&] { generate(model, ids(10), {.tokens = 3}); }),
            "13 tokens do not fit the model's context of 12");
  EXPECT_THAT(raised<ArgumentError>([&] { generate(model, ids(0), {.tokens = 3}); }), HasSubstr("no tokens"));
  EXPECT_EQ(raised<ArgumentError>([&] { generate(model, ids(1), {.tokens = -3}); }),
            "Generation: -3 tokens cannot be generated");
  EXPECT_THAT(raised<IndexError>([&] { model.forward(batch_of({1, 19}, 1)).to_vector(); }), HasSubstr("19"));
  EXPECT_THAT(raised<IndexError>([&] { generate(model, batch_of({-1}, 1), {.tokens = 2}); }), HasSubstr("-1"));
}

}  // namespace
}  // namespace kiln::models
