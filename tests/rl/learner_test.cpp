// The loop of reinforcement learning: what it reports, how it evaluates, and what is wrong.
#include "kiln/rl/learner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/rl/agents/ppo.hpp"
#include "kiln/rl/agents/sac.hpp"
#include "kiln/rl/agents/td3.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "tests/rl/chain.hpp"
#include "tests/rl/said.hpp"

namespace kiln::rl {
namespace {

struct Heard {
  std::vector<training::Evaluation>* evaluations;
  std::vector<std::string>* reasons;
  int* steps;
  void on(const training::Evaluation& evaluation) { evaluations->push_back(evaluation); }
  void on(const training::RunEnd& ending) { reasons->push_back(ending.reason); }
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
  std::vector<std::uint32_t>* words = nullptr;  // random ones, of each step

  const Mlp& policy() const { return net; }
  std::vector<float> act(const Mlp&, const Tensor<2>&, Random& random, bool) const {
    if (words) words->push_back(random.word());
    return actions;
  }
  void observe(std::span<const float>, std::span<const float>, const VectorEnvironment&) {}
  std::optional<Update> learn(Random&) { return std::nullopt; }
  double rate() const { return 0; }
  template <class F>
  void visit_state(F&&) const {}
};

TEST(RlLearner, GivesEachStepRandomNumbersOfItsOwn) {
  std::vector<std::uint32_t> words, again, others;
  const auto train = [](std::vector<std::uint32_t>& heard, std::uint64_t seed) {
    RlLearner learner(Told{small_net(1).init(device()), {1, 1}, &heard}, chains(false, 2),
                      {.steps = 40, .evaluate_every = 10, .seed = seed});
    learner.fit();
  };
  train(words, 1), train(again, 1), train(others, 2);
  EXPECT_EQ(words, again);
  EXPECT_NE(words, others);
  EXPECT_EQ(words.size(), 20u);
  std::ranges::sort(words);
  EXPECT_EQ(std::ranges::adjacent_find(words), words.end());
}

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
  EXPECT_THAT(said([] { RlConfig{}.check(); }), testing::HasSubstr("set a limit"));
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
