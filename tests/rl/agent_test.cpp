// Agents that learn: a chain of five states, checkpoints, and what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "kiln/rl/agents/dqn.hpp"
#include "kiln/rl/agents/ppo.hpp"
#include "kiln/rl/agents/sac.hpp"
#include "kiln/rl/agents/td3.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/learner.hpp"
#include "kiln/rl/wrappers.hpp"
#include "tests/rl/said.hpp"

namespace kiln::rl {
namespace {

/// Five states in a row, shown as a list with one 1. To the right of the last one is 1; to stay away from there, at the left
/// end, is worth 0.1 at once and nothing later.
class Chain final : public Environment {
 public:
  explicit Chain(bool choice)
      : Environment("Chain", Space::box({5}, 0, 1), choice ? Space::discrete(2) : Space::box({1}, -2, 2)),
        choice_(choice) {}

 private:
  void show(std::span<float> seen) const {
    std::ranges::fill(seen, 0.0f);
    seen[static_cast<std::size_t>(state_)] = 1;
  }
  void begin(std::span<float> seen) override {
    state_ = 0;
    show(seen);
  }
  Outcome advance(std::span<const float> action, std::span<float> seen) override {
    const bool right = choice_ ? action[0] == 1 : action[0] > 0;
    if (right && state_ == 4) {
      show(seen);
      return {.reward = 1, .terminated = true};
    }
    const bool stays = !right && state_ == 0;
    state_ = right ? state_ + 1 : std::max(state_ - 1, 0);
    show(seen);
    return {.reward = stays ? 0.02 : 0};
  }
  std::vector<double> numbers() const override { return {static_cast<double>(state_)}; }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != 1 || !(numbers[0] >= 0 && numbers[0] <= 4)) return false;
    state_ = static_cast<int>(numbers[0]);
    return true;
  }

  bool choice_;
  int state_ = 0;
};
VectorEnvironment chains(bool choice, std::int64_t count = 4) {
  return {[choice] { return limited(std::make_unique<Chain>(choice), 12); }, count, 1};
}
Device device() {
  const Device cpu = Device::cpu().autodiff();
  cpu.seed(7);
  return cpu;
}

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

DqnConfig small_dqn() {
  return {.replay = {.capacity = 2000, .discount = 0.9},
          .rate = 3e-3,
          .batch = 32,
          .warm_up = 100,
          .steps_per_update = 4,
          .target_every = 40,
          .epsilon_steps = 2000};
}
MlpConfig small_net(std::int64_t out) { return {.in = 5, .out = out, .hidden = {32}}; }

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

/// All of a policy's numbers.
template <class Policy>
std::vector<float> numbers_of(const Policy& policy) {
  std::vector<float> numbers;
  visit_params(policy, [&](const std::string&, const auto& param) {
    const std::vector<float> own = param.value().data().template to_vector<float>();
    numbers.insert(numbers.end(), own.begin(), own.end());
  });
  return numbers;
}

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

// ---- the loop ------------------------------------------------------------------------------------------------------

struct Heard {
  std::vector<training::Evaluation>* evaluations;
  std::vector<std::string>* reasons;
  int* steps;
  void on(const training::Evaluation& evaluation) { evaluations->push_back(evaluation); }
  void on(const training::Ending& ending) { reasons->push_back(ending.reason); }
  void on(const training::Step&) { ++*steps; }
};

TEST(RlLearner, TellsOfStepsAndEvaluations) {
  std::vector<training::Evaluation> evaluations;
  std::vector<std::string> reasons;
  int steps = 0;
  RlLearner learner(Dqn(small_net(2).init(device()), small_dqn(), chains(true)), chains(true),
                    {.steps = 402, .evaluate_every = 200, .evaluation_episodes = 2, .log_every = 100});
  learner.evaluate_in(chains(true, 2)).add(Heard{&evaluations, &reasons, &steps}).fit();
  EXPECT_EQ(steps, 101);  // of four environments each
  EXPECT_THAT(reasons, testing::ElementsAre("all 101 steps are done"));
  int valid = 0, train = 0;
  for (const training::Evaluation& evaluation : evaluations) {
    if (evaluation.split == "valid") ++valid;
    else ++train;
    ASSERT_NE(evaluation.find("reward"), nullptr);
    ASSERT_NE(evaluation.find("episode length"), nullptr);
  }
  EXPECT_EQ(valid, 2);
  EXPECT_EQ(train, 4);
  EXPECT_EQ(evaluations.back().at.items, 400);
  ASSERT_EQ(evaluations.back().split, "valid");
  EXPECT_NE(evaluations[evaluations.size() - 2].find("exploration"), nullptr);
}

TEST(RlLearner, EndsAfterEpisodesAndActsOnAnotherDevice) {
  RlLearner learner(Dqn(small_net(2).init(device()), small_dqn(), chains(true)), chains(true), {.episodes = 12});
  RlLearner other(Dqn(small_net(2).init(device()), small_dqn(), chains(true)), chains(true), {.episodes = 12});
  other.act_on(Device::cpu());
  EXPECT_EQ(learner.fit().reason, "all 12 episodes are done");
  other.fit();
  EXPECT_GE(learner.episodes().count, 12);
  EXPECT_EQ(numbers_of(learner.agent().policy()), numbers_of(other.agent().policy()));
}

TEST(RlLearner, EvaluatesByTheMomentsOfTheTraining) {
  VectorEnvironment worlds = chains(true);
  worlds.normalize({});
  Dqn agent(small_net(2).init(device()), small_dqn(), worlds);
  RlLearner learner(std::move(agent), std::move(worlds), {.steps = 4000, .seed = 3});
  learner.fit();
  VectorEnvironment fresh = chains(true, 3);
  const EpisodeWindow found = learner.evaluate(fresh, 3);
  EXPECT_NEAR(found.mean_reward(), 1, 1e-9);  // as the environment gives it
  EXPECT_NEAR(found.mean_steps(), 5, 1e-9);
  EXPECT_EQ(fresh.normalization()->observations(), learner.worlds().normalization()->observations());
}

TEST(RlLearner, SaysWhatDoesNotEnd) {
  const auto endless = [] { return std::make_unique<Chain>(true); };
  const auto left = [&] {  // a policy that stays at the left end
    Mlp net = small_net(2).init(device());
    net.layers[1].bias = net.layers[1].bias.with_value(Tensor<1>::of({100, -100}, device()));
    DqnConfig config = small_dqn();
    config.epsilon_start = config.epsilon_end = 0;
    config.warm_up = 2000;
    return Dqn(std::move(net), config, VectorEnvironment(endless, 1, 1));
  };
  RlLearner training(left(), VectorEnvironment(endless, 1, 1), {.episodes = 1, .longest_episode = 50});
  EXPECT_THAT(said([&] { training.fit(); }),
              testing::HasSubstr("DataError: RlLearner: Chain: an episode does not end within 50 steps: limited()"));
  RlLearner evaluating(left(), VectorEnvironment(endless, 1, 1), {.steps = 4, .longest_episode = 50});
  VectorEnvironment fresh(endless, 1, 1);
  EXPECT_THAT(said([&] { (void)evaluating.evaluate(fresh, 1); }), testing::HasSubstr("does not end within 50 steps"));
  RlLearner limited_by_steps(left(), VectorEnvironment(endless, 1, 1),
                             {.steps = 90, .episodes = 1, .longest_episode = 50});
  EXPECT_EQ(limited_by_steps.fit().reason, "all 90 steps are done");
}

/// Acts by a list of numbers, and learns nothing.
struct Told {
  Mlp net;
  std::vector<float> actions;

  const Mlp& policy() const { return net; }
  std::vector<float> act(const Mlp&, const Tensor<2>&, Random&, bool) const { return actions; }
  void observe(std::span<const float>, std::span<const float>, const VectorEnvironment&) {}
  std::optional<Update> learn(Random&) { return std::nullopt; }
  double rate() const { return 0; }
  template <class F>
  void visit_state(F&&) const {}
};

TEST(RlLearner, SaysWhatAnAgentDoesWrong) {
  const auto told = [](std::vector<float> actions) {
    return said([&] {
      RlLearner learner(Told{small_net(1).init(device()), std::move(actions)}, chains(false, 2), {.steps = 10});
      learner.fit();
    });
  };
  EXPECT_EQ(told({1, 2}), "nothing");
  EXPECT_EQ(told({1, 3}), "ArgumentError: Chain: action: number 0 is 3, and must lie between -2 and 2 (environment 1)");
  EXPECT_THAT(told({NAN, 1}), testing::HasSubstr("Chain: action: number 0 is nan"));
  EXPECT_EQ(told({1}), "ShapeError: Chain: a step of 2 environments takes 2 numbers, got 1");
  // An agent of other environments than the learner has.
  RlLearner learner(Dqn(small_net(2).init(device()), small_dqn(), chains(true, 4)), chains(true, 3), {.steps = 10});
  EXPECT_THAT(said([&] { learner.fit(); }), testing::HasSubstr("Replay: takes 4 environments"));
  VectorEnvironment poles([] { return cart_pole(); }, 1, 1);
  EXPECT_EQ(said([&] { (void)learner.evaluate(poles, 1); }),
            "ShapeError: RlLearner: an evaluation in CartPole of what learns in Chain, which has other spaces");
}

TEST(RlLearner, SaysWhatIsWrong) {
  EXPECT_THAT(said([] { RlConfig{}.check(); }), testing::HasSubstr("say how long"));
  EXPECT_THAT(said([] { RlConfig{.steps = 0}.check(); }), testing::HasSubstr("steps = 0"));
  EXPECT_THAT(said([] { RlConfig{.seconds = NAN}.check(); }), testing::HasSubstr("seconds = nan"));
  EXPECT_THAT(said([] { RlConfig{.steps = 1, .log_every = 0}.check(); }), testing::HasSubstr("log_every = 0"));

  const VectorEnvironment choice = chains(true), numbers = chains(false);
  const Device cpu = device();
  EXPECT_THAT(said([&] { Dqn(small_net(2).init(cpu), small_dqn(), numbers); }), testing::HasSubstr("take Sac or Td3"));
  EXPECT_THAT(said([&] { Sac(small_net(2).init(cpu), twin_critic(choice, cpu), {}, choice); }),
              testing::HasSubstr("take Dqn or Ppo"));
  const auto trained = [](auto agent, bool chosen) {
    return said([&] {
      RlLearner learner(std::move(agent), chains(chosen), {.steps = 600});
      learner.fit();
    });
  };
  EXPECT_THAT(said([&] { Dqn(small_net(3).init(cpu), small_dqn(), choice); }),
              testing::HasSubstr("Dqn: the network must give 2 values of actions for each state, and gives 3"));
  EXPECT_THAT(said([&] { Dqn(MlpConfig{.in = 4, .out = 2}.init(cpu), small_dqn(), choice); }),
              testing::HasSubstr("ShapeError"));
  EXPECT_THAT(said([&] { Sac(small_net(1).init(cpu), twin_critic(numbers, cpu, {8}), {}, numbers); }),
              testing::HasSubstr("Sac: the network must give 2 means"));
  EXPECT_THAT(said([&] { Td3(small_net(2).init(cpu), twin_critic(numbers, cpu, {8}), {}, numbers); }),
              testing::HasSubstr("Td3: the network must give 1 numbers of an action"));
  EXPECT_THAT(said([&] { Ppo(ActorCritic<Mlp>{small_net(3).init(cpu), small_net(1).init(cpu)}, {}, choice); }),
              testing::HasSubstr("Ppo: the network must give 2 logits"));
  EXPECT_THAT(said([&] { Ppo(ActorCritic<Mlp>{small_net(2).init(cpu), small_net(2).init(cpu)}, {}, choice); }),
              testing::HasSubstr("Ppo: the network must give 1 value"));
  EXPECT_THAT(said([&] { Ppo(ActorCritic<Mlp>{small_net(1).init(cpu), small_net(1).init(cpu)}, {}, numbers); }),
              testing::HasSubstr("Ppo: log_deviation must have a number"));

  // A network whose outputs are NaN: the loss says so.
  Mlp broken = small_net(2).init(cpu);
  broken.layers[0].bias = broken.layers[0].bias.with_value(Tensor<1>::full({32}, NAN, cpu));
  EXPECT_THAT(trained(Dqn(std::move(broken), small_dqn(), choice), true), testing::HasSubstr("nan"));
}

}  // namespace
}  // namespace kiln::rl
