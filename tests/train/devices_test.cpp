// Training on a device, beside the same training on the processor: KILN_DEVICE says which.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/backend/inspect/profile.hpp"
#include "kiln/backend/inspect/verify.hpp"
#include "kiln/core/random.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/nn.hpp"
#include "kiln/optim/clip.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/optim/rules/sgd.hpp"
#include "kiln/optim/scaler.hpp"
#include "kiln/tensor/capture.hpp"
#include "kiln/train/learner.hpp"
#include "tests/train/fresh_directory.hpp"

namespace kiln {
namespace {

/// The device, or why it is not there.
std::optional<Device> device(std::string* why) {
  try {
    return Device::best();
  } catch (const Error& error) {
    *why = error.what();
    return std::nullopt;
  }
}

#define KILN_NEEDS_DEVICE()                         \
  std::string why;                                  \
  const std::optional<Device> there = device(&why); \
  if (!there) GTEST_SKIP() << "no device: " << why

std::vector<float> noise(std::uint64_t seed, std::int64_t count) {
  Random random(Key{seed});
  std::vector<float> made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(static_cast<float>(random.uniform(-1, 1)));
  return made;
}

// ---- what is trained -----------------------------------------------------------------------------------------------

constexpr std::int64_t kPictures = 6, kClasses = 4;

/// The guide's layers, and a batch norm.
struct Pictures {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm norm;
  nn::MaxPool2d pool;
  nn::Dropout dropout;
  nn::Linear linear;

  Tensor<2> forward(const Tensor<4>& images) const {
    const Tensor<4> x = pool.forward(norm.forward(conv2.forward(conv1.forward(images).relu())).relu());
    return linear.forward(dropout.forward(x.flatten<1>()));
  }
  static Pictures init(const Device& on, double dropout) {
    return {.conv1 = nn::Conv2dConfig{.in = 1, .out = 3, .kernel = {3}}.init(on),
            // A norm takes a bias away, and Adam makes whole steps of what rounding leaves of its gradient.
            .conv2 = nn::Conv2dConfig{.in = 3, .out = 4, .kernel = {3}, .bias = false}.init(on),
            .norm = nn::BatchNormConfig{.channels = 4}.init(on),
            .pool = {.kernel = {2}},
            .dropout = {.probability = dropout},
            .linear = nn::LinearConfig{.in = 16, .out = kClasses}.init(on)};
  }
  static Tensor<4> batch(const Device& on) { return Tensor<4>::of(noise(1, kPictures * 64), {kPictures, 1, 8, 8}, on); }
};

/// What models of language consist of, and a recurrent layer.
struct Tokens {
  nn::Embedding embedding;
  nn::MultiHeadAttention attention;
  nn::LayerNorm norm;
  nn::Lstm lstm;
  nn::Linear linear;

  Tensor<2> forward(const Tensor<2, Int>& tokens) const {
    const Tensor<3> x = embedding.forward(tokens);
    const Tensor<3> seen = norm.forward(x + attention.forward(x, {.causal = true}).gelu());
    return linear.forward(lstm.forward(seen).outputs.mean(1));
  }
};

Tensor<1, Int> targets(const Device& on) {
  return Tensor<1, Int>::of(std::vector<std::int64_t>{0, 1, 2, 3, 1, 0}, {kPictures}, on);
}

/// A copy of a model of the processor.
template <class M>
M trained_on(const Device& on, const M& model) {
  return train(to_device(model, on.autodiff()));
}
Pictures pictures(const Device& on, double dropout = 0) {
  const Device cpu = Device::cpu().autodiff();
  cpu.seed(3);
  return trained_on(on, Pictures::init(cpu, dropout));
}

template <class M>
std::vector<float> weights(const M& model) {
  std::vector<float> all;
  visit_params(model, [&](const std::string&, const nn::AnyLeaf& param) {
    for (const float each : param.value().data().to(DType::F32).template to_vector<float>()) all.push_back(each);
  });
  return all;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
}

/// The losses of some steps.
std::vector<float> losses(const Device& plain, int steps, std::optional<DType> half = {}) {
  const Device on = plain.autodiff();
  Pictures model = pictures(plain);
  Adam optimizer = AdamConfig{}.init(model);
  const Tensor<4> images = Pictures::batch(on);
  const Tensor<1, Int> wanted = targets(on);
  GradientScaler scaler = GradientScalerConfig{.exponent = half == DType::F16 ? 10 : 0}.init();
  std::vector<float> all;
  for (int i = 0; i < steps; ++i) {
    std::optional<Autocast> scope;
    if (half) scope.emplace(*half);
    auto [loss, grads] = value_and_grad(model, [&](const Pictures& m) {
      return scaler.scale(nn::CrossEntropyLoss{}.forward(m.forward(images), wanted));
    });
    all.push_back(static_cast<float>(loss.item() / scaler.scale()));
    model = optimizer.step(1e-2, std::move(model), scaler.unscale(std::move(grads)));
  }
  return all;
}

// ---- tests ---------------------------------------------------------------------------------------------------------

TEST(TrainingOnADevice, OfPicturesGoesAsOnTheProcessor) {
  KILN_NEEDS_DEVICE();
  const std::vector<float> expected = losses(Device::cpu(), 3);
  expect_near(losses(*there, 3), expected, 1e-4);
  EXPECT_LT(expected.back(), expected.front());
}

TEST(TrainingOnADevice, OfTokensGoesAsOnTheProcessor) {
  KILN_NEEDS_DEVICE();
  const Device cpu = Device::cpu().autodiff();
  cpu.seed(5);
  const Tokens first{.embedding = nn::EmbeddingConfig{.count = 11, .size = 8}.init(cpu),
                     .attention = nn::MultiHeadAttentionConfig{.width = 8, .heads = 2}.init(cpu),
                     .norm = nn::LayerNormConfig{.size = 8}.init(cpu),
                     .lstm = nn::LstmConfig{.in = 8, .hidden = 5}.init(cpu),
                     .linear = nn::LinearConfig{.in = 5, .out = kClasses}.init(cpu)};
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < kPictures * 5; ++i) numbers.push_back(i * 7 % 11);
  const auto run = [&](const Device& plain) {
    const Device on = plain.autodiff();
    Tokens model = trained_on(plain, first);
    AdamW optimizer = AdamWConfig{}.init(model);
    const auto tokens = Tensor<2, Int>::of(numbers, {kPictures, 5}, on);
    std::vector<float> all;
    for (int i = 0; i < 2; ++i) {
      auto [loss, grads] = value_and_grad(
          model, [&](const Tokens& m) { return nn::CrossEntropyLoss{}.forward(m.forward(tokens), targets(on)); });
      all.push_back(loss.item());
      model = optimizer.step(1e-2, std::move(model), clip_by_global_norm(std::move(grads), 0.5));
    }
    for (const float each : weights(model)) all.push_back(each);
    return all;
  };
  expect_near(run(*there), run(Device::cpu()), 2e-3);  // Adam divides small gradients by their size
}

TEST(TrainingOnADevice, InHalvesStaysNearTheProcessors) {
  KILN_NEEDS_DEVICE();
  for (const DType half : {DType::BF16, DType::F16})
    expect_near(losses(*there, 2, half), losses(Device::cpu(), 2, half), half == DType::BF16 ? 3e-2 : 5e-3);
}

struct PictureOutput {
  Tensor<0> loss;
  std::int64_t items() const { return kPictures; }
};

/// The weights after so many steps, some of which may be in a checkpoint already; dropout has a part in it.
std::vector<float> learned(const Device& plain, const std::filesystem::path& directory, std::int64_t steps) {
  const Device on = plain.autodiff();
  const auto step = [on](const Pictures& m, std::vector<float> shift) -> PictureOutput {
    const Tensor<4> images = Pictures::batch(on) + Tensor<1>::of(shift, {1}, on).mean();
    return {nn::CrossEntropyLoss{}.forward(m.forward(images), targets(on))};
  };
  DataLoader loader(in_memory(noise(7, 4)),
                    [](std::span<const float> items) { return std::vector<float>(items.begin(), items.end()); },
                    {.batch_size = 1, .shuffle = true, .seed = 2});
  Pictures model = pictures(plain, 0.25);
  Adam optimizer = AdamConfig{}.init(model);
  Learner learner(std::move(model), std::move(optimizer), step, {.steps = steps, .seed = 9});
  learner.rate(1e-2).checkpoints(directory, {.every_steps = 1});
  learner.fit(loader);
  return weights(learner.model());
}

TEST(TrainingOnADevice, GoesOnFromACheckpointToTheSameBits) {
  KILN_NEEDS_DEVICE();
  const std::vector<float> whole = learned(*there, fresh_directory("whole"), 4);
  const auto parts = fresh_directory("parts");
  (void)learned(*there, parts, 2);
  EXPECT_EQ(learned(*there, parts, 4), whole);
  // What one device began another one goes on with.
  const auto moved = fresh_directory("moved");
  (void)learned(Device::cpu(), moved, 2);
  expect_near(learned(*there, moved, 4), whole, 2e-3);
}

TEST(TrainingOnADevice, IsTheSameAsOfACapturedStep) {
  KILN_NEEDS_DEVICE();
  const Device on = there->autodiff();
  const Pictures model = pictures(*there);
  const auto gradient_of = [&](const Tensor<4>& images) {
    const auto [loss, grads] = value_and_grad(model, [&](const Pictures& m) {
      return nn::CrossEntropyLoss{}.forward(valid(m).forward(images), targets(on));
    });
    return std::tuple(loss, Tensor<4>(*grads.find("conv1.weight")));
  };
  const Tensor<4> images = Pictures::batch(on.inner());
  const auto captured = capture(gradient_of, images);
  const auto [loss, gradient] = gradient_of(images);
  for (int i = 0; i < 2; ++i) {
    const auto [again, same] = captured(images);
    EXPECT_EQ(again.item(), loss.item());
    EXPECT_EQ(same.to_vector<float>(), gradient.to_vector<float>());
  }
}

TEST(TrainingOnADevice, IsVerifiedAndProfiled) {
  KILN_NEEDS_DEVICE();
  const std::vector<float> expected = losses(Device::cpu(), 2);
  const Verify verify(*there, {.reference = Device::parse("reference")});
  expect_near(losses(verify.device(), 2), expected, 1e-4);
  EXPECT_GT(verify.compared(), 20);
  const Profile profile(*there);
  expect_near(losses(profile.device(), 2), expected, 1e-4);
  const std::vector<ProfileRow> rows = profile.rows();
  EXPECT_TRUE(std::ranges::any_of(rows, [](const ProfileRow& row) { return row.name.starts_with("conv"); }));
  EXPECT_TRUE(std::ranges::all_of(rows, [](const ProfileRow& row) { return row.calls > 0 && row.seconds >= 0; }));
}

}  // namespace
}  // namespace kiln
