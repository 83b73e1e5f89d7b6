// What agents reach in whole trainings, from a seed each: where there is time (./dev test --long), one to a few minutes each.
#include <gtest/gtest.h>

#include "kiln/nn/spatial/conv.hpp"
#include "kiln/rl/agents/dqn.hpp"
#include "kiln/rl/agents/ppo.hpp"
#include "kiln/rl/agents/sac.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/learner.hpp"
#include "kiln/rl/wrappers.hpp"
#include "tests/support/long.hpp"

namespace kiln::rl {
namespace {

constexpr std::uint64_t kSeed = 1;

EnvironmentPtr limited_cart_pole() { return limited(cart_pole(), kCartPoleSteps); }
EnvironmentPtr limited_pendulum() { return limited(pendulum(), kPendulumSteps); }

Device seeded_device() {
  const Device device = Device::cpu().autodiff();
  device.seed(kSeed);
  return device;
}

/// The mean reward of 100 episodes without exploration, after so many steps.
template <PolicyLearner A>
double score(A agent, VectorEnvironment worlds, const MakeEnvironment& make, std::int64_t steps) {
  RlLearner learner(std::move(agent), std::move(worlds), {.steps = steps, .seed = kSeed});
  learner.fit();
  VectorEnvironment fresh(make, 10, kSeed + 1);
  return learner.evaluate(fresh, 100).mean_reward();
}

class Scores : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::is_long()) GTEST_SKIP() << "takes minutes: KILN_TEST_LONG=1";
  }
};

TEST_F(Scores, DqnBalancesThePole) {
  VectorEnvironment worlds(limited_cart_pole, 1, kSeed);
  const DqnConfig config{
      .rate = 2.3e-3, .steps_per_update = 2, .target_every = 128, .epsilon_end = 0.04, .epsilon_steps = 8000};
  Dqn agent(MlpConfig{.in = 4, .out = 2}.init(seeded_device()), config, worlds);
  EXPECT_GE(score(std::move(agent), std::move(worlds), limited_cart_pole, 50'000), 475);
}

TEST_F(Scores, PpoBalancesThePole) {
  VectorEnvironment worlds(limited_cart_pole, 8, kSeed);
  const PpoConfig config{
      .rollout = {.steps = 32, .discount = 0.98, .lambda = 0.8}, .rate = 1e-3, .epochs = 20, .batch = 256};
  Ppo agent(actor_critic(worlds, seeded_device()), config, worlds);
  EXPECT_GE(score(std::move(agent), std::move(worlds), limited_cart_pole, 100'000), 475);
}

TEST_F(Scores, SacSwingsThePendulumUp) {
  VectorEnvironment worlds(limited_pendulum, 1, kSeed);
  const Device device = seeded_device();
  const MlpConfig actor{.in = 3, .out = 2, .activation = nn::Relu{}};
  Sac agent(actor.init(device), twin_critic(worlds, device, {64, 64}),
            {.common = {.replay = {.capacity = 20'000}, .rate = 1e-3}}, worlds);
  EXPECT_GE(score(std::move(agent), std::move(worlds), limited_pendulum, 10'000), -200);
}

/// Reads the rows of two stacked pictures as pictures.
struct PictureNet {
  nn::Conv2d first, second;
  nn::Linear output;

  Tensor<2> forward(const Tensor<2>& rows) const {
    const Tensor<4> pictures = rows.reshape(rows.dim(0), 2, 10, 10);
    return output.forward(second.forward(first.forward(pictures).relu()).relu().flatten<1>());
  }
};
PictureNet picture_net(std::int64_t outputs, double gain, const Device& device) {
  return {nn::Conv2dConfig{.in = 2, .out = 8, .kernel = {3}, .stride = {2}, .padding = {1}}.init(device),
          nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}, .stride = {2}, .padding = {1}}.init(device),
          nn::LinearConfig{.in = 16 * 3 * 3, .out = outputs, .initializer = nn::init::Orthogonal{gain}}.init(device)};
}

TEST_F(Scores, PpoCatchesBallsFromPixels) {
  const auto make = [] { return stacked(catch_ball(), 2); };
  VectorEnvironment worlds(make, 8, kSeed);
  const PpoConfig config{.rollout = {.steps = 64, .discount = 0.95, .lambda = 0.9},
                         .rate = 2e-3,
                         .epochs = 4,
                         .batch = 128,
                         .entropy = 0.001};
  const Device device = seeded_device();
  Ppo agent(ActorCritic<PictureNet>{picture_net(3, 0.01, device), picture_net(1, 1, device)}, config, worlds);
  EXPECT_GE(score(std::move(agent), std::move(worlds), make, 300'000),
            4);  // of 5 at most; random actions give about -2
}

}  // namespace
}  // namespace kiln::rl
