// Agents that learn: each solves a chain of five states, and goes on from its checkpoints.
#include <gtest/gtest.h>

#include <filesystem>

#include "kiln/rl/agents/ppo.hpp"
#include "kiln/rl/agents/sac.hpp"
#include "kiln/rl/agents/td3.hpp"
#include "kiln/rl/learner.hpp"
#include "tests/rl/chain.hpp"

namespace kiln::rl {
namespace {

/// Trains, and asks of the policy alone that it goes straight to the end: 5 steps, a reward of 1.
template <PolicyLearner A>
void expect_solved(A agent, bool choice, std::int64_t steps) {
  RlLearner learner(std::move(agent), chains(choice), {.steps = steps, .seed = 3});
  learner.fit();
  EXPECT_GE(learner.position().items, steps);
  VectorEnvironment fresh = chains(choice, 3);
  const EpisodeWindow found = learner.evaluate(fresh, 3);
  EXPECT_EQ(found.count, 3);
  EXPECT_NEAR(found.readings()[0].value, 1, 1e-9);
  EXPECT_NEAR(found.readings()[1].value, 5, 1e-9);
}

TEST(Agents, DqnSolvesAChain) {
  expect_solved(Dqn(small_net(2).init(device()), small_dqn(), chains(true)), true, 4000);
}
TEST(Agents, DqnOfSeveralStepsByPriorityAndDuellingSolvesAChain) {
  DqnConfig config = small_dqn();
  config.replay.steps = 3;
  config.replay.priority = 0.6;
  config.double_q = false;
  const Device cpu = device();
  Duelling<Mlp> net{small_net(16).init(cpu), nn::LinearConfig{16, 1}.init(cpu), nn::LinearConfig{16, 2}.init(cpu)};
  expect_solved(Dqn(std::move(net), config, chains(true)), true, 4000);
}
TEST(Agents, PpoSolvesAChain) {
  const VectorEnvironment worlds = chains(true);
  const PpoConfig config{.rollout = {.steps = 32, .discount = 0.9}, .rate = 3e-3, .epochs = 6, .entropy = 0.01};
  expect_solved(Ppo(actor_critic(worlds, device(), {.in = 1, .out = 1, .hidden = {32}}), config, worlds), true, 6000);
}
TEST(Agents, PpoSolvesAChainByRealNumbers) {
  const VectorEnvironment worlds = chains(false);
  const PpoConfig config{.rollout = {.steps = 32, .discount = 0.9}, .rate = 3e-3, .epochs = 6};
  expect_solved(Ppo(actor_critic(worlds, device(), {.in = 1, .out = 1, .hidden = {32}}), config, worlds), false, 6000);
}
TEST(Agents, A2cSolvesAChain) {
  const VectorEnvironment worlds = chains(true);
  PpoConfig config = PpoConfig::a2c();
  config.rollout.discount = 0.9;
  config.rate = 3e-3;
  config.entropy = 0.01;
  expect_solved(Ppo(actor_critic(worlds, device(), {.in = 1, .out = 1, .hidden = {32}}), config, worlds), true, 12000);
}

ContinuousConfig small_continuous() {
  return {.replay = {.capacity = 3000, .discount = 0.9},
          .rate = 3e-3,
          .batch = 32,
          .warm_up = 300,
          .steps_per_update = 4,
          .tau = 0.03};
}
TEST(Agents, Td3SolvesAChain) {
  const VectorEnvironment worlds = chains(false);
  const Device cpu = device();
  // Who does not draw actions finds the end by chance alone; and tanh of large numbers has no slope to come back by.
  ContinuousConfig common = small_continuous();
  common.replay.capacity = 5000;
  common.warm_up = 1000;
  common.steps_per_update = 2;
  MlpConfig net = small_net(1);
  net.last_gain = 0.01;
  expect_solved(Td3(net.init(cpu), twin_critic(worlds, cpu, {32}), {.common = common, .noise = 0.3}, worlds), false,
                5000);
}
TEST(Agents, SacSolvesAChain) {
  const VectorEnvironment worlds = chains(false);
  const Device cpu = device();
  expect_solved(Sac(small_net(2).init(cpu), twin_critic(worlds, cpu, {32}),
                    {.common = small_continuous(), .first_temperature = 0.1}, worlds),
                false, 3000);
}

// ---- checkpoints ---------------------------------------------------------------------------------------------------

/// 600 steps at once, and 300 that a checkpoint is written of and that another process goes on from: the same bits.
template <class Make>
void expect_resumes(const std::string& name, Make make, bool choice, bool normalizes = false) {
  const auto worlds = [&] {
    VectorEnvironment all = chains(choice);
    if (normalizes) all.normalize({});
    return all;
  };
  const std::filesystem::path place = std::filesystem::path(testing::TempDir()) / ("kiln_rl_" + name);
  std::filesystem::remove_all(place);
  RlLearner whole(make(), worlds(), {.steps = 600, .seed = 3});
  whole.fit();
  RlLearner first(make(), worlds(), {.steps = 300, .seed = 3});
  first.checkpoints(place).fit();
  RlLearner second(make(), worlds(), {.steps = 600, .seed = 3});
  second.checkpoints(place).fit();
  EXPECT_EQ(second.position().step, whole.position().step);
  EXPECT_EQ(second.episodes().rewards, whole.episodes().rewards);
  EXPECT_EQ(second.worlds().state(), whole.worlds().state());
  EXPECT_EQ(numbers_of(second.agent().policy()), numbers_of(whole.agent().policy()));
  EXPECT_NE(numbers_of(first.agent().policy()), numbers_of(whole.agent().policy()));
  std::filesystem::remove_all(place);
}

TEST(Agents, GoOnFromCheckpoints) {
  DqnConfig dqn = small_dqn();
  dqn.replay.steps = 2;
  dqn.replay.priority = 0.5;
  expect_resumes("dqn", [&] { return Dqn(small_net(2).init(device()), dqn, chains(true)); }, true);
  const auto ppo = [] {
    const VectorEnvironment worlds = chains(true);
    return Ppo(actor_critic(worlds, device(), {.in = 1, .out = 1, .hidden = {8}}), {.rollout = {.steps = 20}}, worlds);
  };
  expect_resumes("ppo", ppo, true);
  expect_resumes("normalized_ppo", ppo, true, /*normalizes=*/true);
  ContinuousConfig common = small_continuous();
  common.warm_up = 100;
  const auto sac = [&] {
    const VectorEnvironment worlds = chains(false);
    return Sac(small_net(2).init(device()), twin_critic(worlds, device(), {8}), {.common = common}, worlds);
  };
  expect_resumes("sac", sac, false);
  const auto td3 = [&] {
    const VectorEnvironment worlds = chains(false);
    return Td3(small_net(1).init(device()), twin_critic(worlds, device(), {8}), {.common = common}, worlds);
  };
  expect_resumes("td3", td3, false);
}

}  // namespace
}  // namespace kiln::rl
