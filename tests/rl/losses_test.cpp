// Losses and targets of agents beside loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "kiln/rl/agents/dqn.hpp"
#include "kiln/rl/agents/ppo.hpp"
#include "kiln/rl/agents/sac.hpp"
#include "kiln/rl/agents/td3.hpp"

namespace kiln::rl {
namespace {

const Device kCpu = Device::cpu();

std::vector<double> sampled(std::size_t count, Random& random, double low = -2, double high = 2) {
  std::vector<double> numbers(count);
  for (double& number : numbers) number = static_cast<float>(random.uniform(low, high));
  return numbers;
}
Tensor<1> column(const std::vector<double>& numbers) { return Tensor<1>::of(numbers, kCpu).to(DType::F32); }
Tensor<2> table(const std::vector<double>& numbers, std::int64_t columns) {
  return Tensor<2>::of(numbers, {static_cast<std::int64_t>(numbers.size()) / columns, columns}, kCpu).to(DType::F32);
}
void expect_near(const Tensor<1>& found, const std::vector<double>& expected, double tolerance = 1e-5) {
  const std::vector<double> numbers = found.to_vector<double>();
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(numbers[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
}

TEST(AgentLosses, DqnTarget) {
  Random random(1);
  const std::vector<double> rewards = sampled(6, random), discounts = {0.9, 0, 0.99, 1, 0.5, 0.9};
  const std::vector<double> online = sampled(18, random), target = sampled(18, random);
  for (const bool double_q : {false, true}) {
    std::vector<double> expected;
    for (std::size_t i = 0; i < 6; ++i) {
      const double* const asked = (double_q ? online : target).data() + 3 * i;
      const auto best = static_cast<std::size_t>(std::max_element(asked, asked + 3) - asked);
      expected.push_back(rewards[i] + discounts[i] * target[3 * i + best]);
    }
    expect_near(dqn_target(column(rewards), column(discounts), table(online, 3), table(target, 3), double_q), expected);
  }
}

TEST(AgentLosses, DuellingNetworkAddsAdvantagesAroundTheirMean) {
  const Duelling<Mlp> net{MlpConfig{.in = 2, .out = 5, .hidden = {4}}.init(kCpu), nn::LinearConfig{5, 1}.init(kCpu),
                          nn::LinearConfig{5, 3}.init(kCpu)};
  const Tensor<2> x = table({1, 2, -1, 0.5}, 2), features = net.body.forward(x);
  const std::vector<double> value = net.value.forward(features).to_vector<double>(),
                            advantage = net.advantage.forward(features).to_vector<double>(),
                            found = net.forward(x).to_vector<double>();
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(
          found[3 * i + k],
          value[i] + advantage[3 * i + k] - (advantage[3 * i] + advantage[3 * i + 1] + advantage[3 * i + 2]) / 3, 1e-6);
}

TEST(AgentLosses, Ppo) {
  Random random(2);
  const std::size_t n = 9;
  const auto now = sampled(n, random), old = sampled(n, random), advantages = sampled(n, random),
             values = sampled(n, random), returns = sampled(n, random), entropies = sampled(n, random, 0, 2);
  for (const bool normalize : {false, true})
    for (const double clip : {0.2, std::numeric_limits<double>::infinity()}) {
      const PpoConfig config{.clip = clip, .entropy = 0.03, .value = 0.7, .normalize = normalize};
      double mean = 0, square = 0;
      for (const double a : advantages) mean += a / n;
      for (const double a : advantages) square += (a - mean) * (a - mean);
      const double deviation = std::sqrt(square / (n - 1));
      double expected = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double a = normalize ? (advantages[i] - mean) / (deviation + 1e-8) : advantages[i];
        const double ratio = std::exp(now[i] - old[i]);
        const double held = std::min(std::max(ratio, 1 - clip), 1 + clip);
        expected -= std::min(ratio * a, held * a) / n;
        expected += 0.7 * (values[i] - returns[i]) * (values[i] - returns[i]) / n - 0.03 * entropies[i] / n;
      }
      const Tensor<0> found = ppo_loss(
          {column(now), column(old), column(advantages), column(values), column(returns), column(entropies)}, config);
      EXPECT_NEAR(found.item(), expected, 1e-4 * std::abs(expected));
    }
}

TEST(AgentLosses, Likelihoods) {
  Random random(3);
  const std::vector<double> logits = sampled(12, random, -4, 4);
  const std::vector<std::int64_t> actions = {0, 2, 1, 2};
  std::vector<double> log_probabilities, entropies;
  for (std::size_t i = 0; i < 4; ++i) {
    double sum = 0, entropy = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += std::exp(logits[3 * i + k]);
    for (std::size_t k = 0; k < 3; ++k) {
      const double p = std::exp(logits[3 * i + k]) / sum;
      entropy -= p * std::log(p);
    }
    log_probabilities.push_back(logits[3 * i + static_cast<std::size_t>(actions[i])] - std::log(sum));
    entropies.push_back(entropy);
  }
  const Likelihood choice = likelihood_of_choice(table(logits, 3), Tensor<1, Int>::of(actions, kCpu));
  expect_near(choice.log_probabilities, log_probabilities);
  expect_near(choice.entropies, entropies);

  const std::vector<double> means = sampled(8, random), taken = sampled(8, random), log_deviation = {-0.5, 0.3};
  log_probabilities.clear(), entropies.clear();
  for (std::size_t i = 0; i < 4; ++i) {
    double log_probability = 0, entropy = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const double deviation = std::exp(log_deviation[k]), z = (taken[2 * i + k] - means[2 * i + k]) / deviation;
      log_probability += std::log(std::exp(-z * z / 2) / (deviation * std::sqrt(2 * std::numbers::pi)));
      entropy += std::log(deviation * std::sqrt(2 * std::numbers::pi * std::numbers::e));
    }
    log_probabilities.push_back(log_probability), entropies.push_back(entropy);
  }
  const Likelihood normal = likelihood_of_normal(table(means, 2), column(log_deviation), table(taken, 2));
  expect_near(normal.log_probabilities, log_probabilities);
  expect_near(normal.entropies, entropies);
}

TEST(AgentLosses, SquashedNormal) {
  Random random(4);
  std::vector<double> said = sampled(12, random), noise = sampled(6, random);
  said[2] = 5, said[3] = -30;  // deviations beyond the bounds: rows are mean, mean, log, log
  std::vector<double> actions, densities;
  for (std::size_t i = 0; i < 3; ++i) {
    double density = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const double s = std::min(std::max(said[4 * i + 2 + k], -20.0), 2.0), z = noise[2 * i + k];
      const double u = said[4 * i + k] + z * std::exp(s), a = std::tanh(u);
      actions.push_back(a);
      // log(1 - tanh^2) by cosh, in long double, as 1 - a * a is nothing for large u.
      density += -z * z / 2 - s - std::log(2 * std::numbers::pi) / 2 +
                 2 * static_cast<double>(std::log(std::cosh((long double)u)));
    }
    densities.push_back(density);
  }
  const SquashedNormal found = squashed_normal(table(said, 4), table(noise, 2));
  expect_near(found.actions.reshape(6), actions);
  expect_near(found.log_probabilities, densities);
}

TEST(AgentLosses, ContinuousTargetsAndCritics) {
  Random random(5);
  const auto rewards = sampled(5, random), next = sampled(5, random), logs = sampled(5, random), a = sampled(5, random),
             b = sampled(5, random), weights = sampled(5, random, 0, 1);
  const std::vector<double> discounts = {0.9, 0, 0.99, 1, 0.5};
  std::vector<double> td3, sac;
  double loss = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    td3.push_back(rewards[i] + discounts[i] * next[i]);
    sac.push_back(rewards[i] + discounts[i] * (next[i] - 0.3 * logs[i]));
    for (const double value : {a[i], b[i]}) loss += weights[i] * (value - td3[i]) * (value - td3[i]) / 2 / 5;
  }
  const Tensor<1> target = td3_target(column(rewards), column(discounts), column(next));
  expect_near(target, td3);
  expect_near(
      sac_target(column(rewards), column(discounts), column(next), column(logs), Tensor<0>::full({}, 0.3, kCpu)), sac);
  EXPECT_NEAR(twin_loss({column(a), column(b)}, target, column(weights)).item(), loss, 1e-5 * loss);
}

TEST(AgentLosses, DqnLossIsHubersByWeights) {
  Random random(6);
  const std::vector<double> values = {0, 0.5, 3, -4, 1, -1, 0.25}, target = {0, 0.75, 1, 2, 2, 0.5, 0.5};
  const std::vector<double> weights = sampled(7, random, 0, 1);
  double loss = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    const double error = std::abs(values[i] - target[i]);
    loss += weights[i] * (error < 1 ? error * error / 2 : error - 0.5) / 7;
  }
  EXPECT_NEAR(dqn_loss(column(values), column(target), column(weights)).item(), loss, 1e-5 * loss);
}

TEST(AgentLosses, Td3SmoothsItsTarget) {
  const Td3Config config{.target_noise = 0.5, .target_noise_max = 0.3};
  const std::vector<double> actions = {-0.9, 0.1, 0.95, 0.5}, noise = {-2, 0.2, 1, 3};
  std::vector<double> expected;
  for (std::size_t i = 0; i < 4; ++i) {
    const double added = std::min(std::max(0.5 * noise[i], -0.3), 0.3);
    expected.push_back(std::min(std::max(actions[i] + added, -1.0), 1.0));
  }
  expect_near(td3_next_actions(table(actions, 2), table(noise, 2), config).reshape(4), expected);
}

TEST(AgentLosses, SacActorAndTemperature) {
  Random random(7);
  const auto logs = sampled(6, random), values = sampled(6, random);
  double actor = 0, mean = 0;
  for (std::size_t i = 0; i < 6; ++i) actor += (0.3 * logs[i] - values[i]) / 6, mean += (logs[i] - 1.5) / 6;
  const Tensor<0> temperature = Tensor<0>::full({}, 0.3, kCpu), log_temperature = Tensor<0>::full({}, -0.7, kCpu);
  EXPECT_NEAR(sac_actor_loss(column(logs), column(values), temperature).item(), actor, 1e-5);
  EXPECT_NEAR(sac_temperature_loss(log_temperature, column(logs), -1.5).item(), 0.7 * mean, 1e-5);
}

TEST(AgentLosses, TwinCriticsCountByTheLowerOne) {
  const MlpConfig config{.in = 3, .out = 1, .hidden = {4}};
  const TwinCritic<Mlp> critic{config.init(kCpu), config.init(kCpu)};
  const Tensor<2> seen = table({1, -2, 0.5, 3, -1, 0, 2, 1, -3, 2}, 2), actions = table({1, -1, 0.5, 0, -0.5}, 1);
  const auto [first, second] = critic.forward(seen, actions);
  const std::vector<double> a = first.to_vector<double>(), b = second.to_vector<double>();
  std::vector<double> expected;
  int lower = 0;
  for (std::size_t i = 0; i < 5; ++i) expected.push_back(std::min(a[i], b[i])), lower += a[i] < b[i];
  EXPECT_TRUE(0 < lower && lower < 5);
  expect_near(critic.min_value(seen, actions), expected);
}

TEST(AgentLosses, ActionsBeyondTheBoundsBecomeThem) {
  const Space box = Space::box({2}, {-1, 0}, {1, 5});
  EXPECT_EQ(bounded({-3, -1, 0.5, 7}, box), (std::vector<float>{-1, 0, 0.5, 5}));
  EXPECT_EQ(bounded({3, 1}, Space::discrete(2)), (std::vector<float>{3, 1}));
}

TEST(AgentLosses, TargetsFollow) {
  const Device device = kCpu.autodiff();
  const Mlp target = MlpConfig{.in = 3, .out = 2}.init(device), online = MlpConfig{.in = 3, .out = 2}.init(device);
  const std::vector<double> before = target.layers[0].weight.to_vector<double>(),
                            wanted = online.layers[0].weight.to_vector<double>(),
                            after = moved_towards(target, online, 0.1).layers[0].weight.to_vector<double>(),
                            same = moved_towards(target, online, 1).layers[0].weight.to_vector<double>();
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(after[i], before[i] + 0.1 * (wanted[i] - before[i]), 1e-6);
  EXPECT_EQ(same, wanted);
}

}  // namespace
}  // namespace kiln::rl
