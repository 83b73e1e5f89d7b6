#include <gtest/gtest.h>

#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/create.hpp"
#include "models/wgan.hpp"

#include "tests/support/devices.hpp"
#include "torch_figures.hpp"
#include "waves.hpp"

namespace kiln::models {
namespace {

using test::autodiff;

// The penalty is of a gradient, so that a step of the critic needs gradients of gradients.
TEST(Wgan, LearnsAsInPyTorch) {
  auto generator = filled(GeneratorConfig{.side = 8, .latent = 3, .width = 2}.init(autodiff));
  auto critic = filled(CriticConfig{.side = 8, .width = 2}.init(autodiff));
  const Tensor<2> noise = wave_tensor<2>("noise", {4, 3});
  const Tensor<4> real = wave_tensor<4>("real", {4, 1, 8, 8}, 0.5, 0.5);
  const Tensor<1> share = wave_tensor<1>("share", {4}, 0.5, 0.5);
  const Tensor<4> fake = generator.forward(noise).detach();

  std::vector<double> found;
  for (int i = 0; i < 2; ++i)
    step(critic, [&](const Critic& c) {
      const Tensor<0> gap = critic_gap(c, real, fake), penalty = gradient_penalty(c, real, fake, share);
      found.push_back(gap.item<double>());
      found.push_back(penalty.item<double>());
      return penalty * 10 - gap;
    });
  expect_figures(found, torch_numbers("Critic"));

  const auto loss = [&](const Generator& g) { return -critic.forward(g.forward(noise)).mean(); };
  const double first = step(generator, loss), second = step(generator, loss);
  expect_figures({first, second}, torch_numbers("Generator"));
}

// Where nothing is negative the leaky units are the identity, so that a critic of single taps reads one pixel, six
// times: a slope of 6 everywhere.
TEST(Wgan, ThePenaltyIsTheSquareOfTheSlopesDistanceFromOne) {
  Critic critic = CriticConfig{.side = 4, .width = 1}.init(autodiff);
  critic = map_params(critic, [](const std::string&, const Value& value) { return value * 0; });
  const Tensor<4> real = rand({3, 1, 4, 4}, autodiff, Key{1}), fake = rand({3, 1, 4, 4}, autodiff, Key{2});
  const Tensor<1> share = rand({3}, autodiff, Key{3});
  EXPECT_NEAR(gradient_penalty(critic, real, fake, share).item(), 1, 1e-4);

  TensorData tap({1, 1, 4, 4}, DType::F32);
  tap.as<float>()[5] = 1;  // behind the padding of 1: the window's pixel (0, 0)
  const Tensor<4> first = Tensor<4>::from_data(tap, autodiff);
  critic.conv1.weight = nn::Param(first);
  critic.conv2.weight = nn::Param(cat({first, first}, 0) * 3);
  critic.head.weight = nn::Param(ones({1, 2}, autodiff));
  EXPECT_NEAR(gradient_penalty(critic, real, fake, share).item(), (6 - 1) * (6 - 1), 1e-4);
  EXPECT_NEAR(critic_gap(critic, real, fake).item(), 6 * (real - fake).at(3, 0).at(2, 0).mean().item(), 1e-5);
}

}  // namespace
}  // namespace kiln::models
