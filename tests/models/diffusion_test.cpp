#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/create.hpp"
#include "models/diffusion.hpp"

#include "tests/support/devices.hpp"
#include "torch_figures.hpp"
#include "waves.hpp"

namespace kiln::models {
namespace {

using test::autodiff;

TEST(Diffusion, LearnsAsInPyTorch) {
  auto model = filled(DenoiserConfig{.classes = 3, .widths = {8, 16}, .steps = 20}.init(autodiff));
  const Tensor<4> images = wave_tensor<4>("images", {3, 1, 4, 6}), noise = wave_tensor<4>("noise", {3, 1, 4, 6});
  const Tensor<1, Int> steps = Tensor<1, Int>::of({0, 7, 19}, autodiff),
                       labels = Tensor<1, Int>::of({2, 0, 3}, autodiff);
  const auto loss = [&](const Denoiser& m) { return m.loss(images, steps, labels, noise); };
  const double first = step(model, loss), second = step(model, loss);
  expect_figures({first, second}, torch_numbers("Denoiser"));
}

// Of images from N(m, s^2), what is the noise is known: the expectation of one of two normal variables, given their
// sum. Following it along the whole schedule turns N(0, 1) into N(m, s^2), in small steps without changing any order: x
// becomes m + s x.
TEST(Diffusion, TakesNoiseBackToTheDistributionThatThePredictorKnows) {
  constexpr double kMean = 0.4, kDeviation = 0.25;
  const std::vector<double> kept = cosine_schedule(1000);
  const auto predict = [&](const Tensor<4>& x, std::int64_t step) {
    const double a = kept[static_cast<std::size_t>(step)];
    return (x - std::sqrt(a) * kMean) * (std::sqrt(1 - a) / (a * kDeviation * kDeviation + 1 - a));
  };
  const Tensor<4> noise = wave_tensor<4>("noise", {2, 1, 2, 3}, 2);
  const auto images = denoised(noise, kept, predict, {.steps = 1000, .clamp = false}).to_vector<double>();
  const auto right = (noise * kDeviation + kMean).to_vector<double>();
  for (std::size_t i = 0; i < images.size(); ++i) EXPECT_NEAR(images[i], right[i], 0.01) << i;
}

TEST(Diffusion, KeepsWhatItForeseesBetweenMinusOneAndOne) {
  const auto none = [](const Tensor<4>& x, std::int64_t) { return zeros_like(x); };
  const Tensor<4> noise = wave_tensor<4>("noise", {1, 1, 2, 4}, 3);
  for (const double x : denoised(noise, cosine_schedule(10), none, {.steps = 10}).to_vector<double>())
    EXPECT_NEAR(std::abs(x), 1, 1e-5);
}

// One step is linear in the noise that was predicted.
TEST(Diffusion, GuidanceGoesFurtherFromAnImageOfAnyClass) {
  const auto model = filled(DenoiserConfig{.classes = 3, .widths = {16}, .steps = 20}.init(Device::cpu()));
  const Tensor<4> noise = wave_tensor<4>("noise", {2, 1, 4, 4});
  const Tensor<1, Int> labels = Tensor<1, Int>::of({2, 0}, Device::cpu());
  const auto drawn = [&](const Tensor<1, Int>& which, double guidance) {
    return denoised(model, noise, which, {.steps = 1, .guidance = guidance, .clamp = false});
  };
  const Tensor<4> told = drawn(labels, 0), any = drawn(full_like(labels, model.any_class()), 0);
  EXPECT_GT((told - any).max_abs().item(), 10);
  expect_figures(drawn(labels, 2).to_vector<double>(), (told * 3 - any * 2).to_vector<double>());
}

TEST(Diffusion, ScheduleIsThatOfItsPaper) {
  const std::vector<double> kept = cosine_schedule(1000);
  ASSERT_EQ(kept.size(), 1000u);
  // Figure 5 of Nichol and Dhariwal: close to 1 at first, about a half at the middle, hardly anything at the end.
  EXPECT_NEAR(kept[0], 1, 1e-4);
  EXPECT_NEAR(kept[499], 0.4938, 1e-3);
  EXPECT_LE(kept[999], 1e-5);
  for (std::size_t i = 1; i < 990; ++i) EXPECT_LT(kept[i], kept[i - 1]);
}

}  // namespace
}  // namespace kiln::models
