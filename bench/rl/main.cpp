// Reinforcement learning beside Stable-Baselines3 and Gymnasium (peers.py, which has the same settings): answers with a line of
// JSON. suite.py has both take turns.
//
//   bench_rl steps ENVIRONMENTS SECONDS   a random policy on CartPoles
//   bench_rl train AGENT SEED             a training, and its score afterwards
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "kiln/core/config/arguments.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/rl/agents/dqn.hpp"
#include "kiln/rl/agents/ppo.hpp"
#include "kiln/rl/agents/sac.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/learner.hpp"
#include "kiln/rl/wrappers.hpp"

namespace {

using namespace kiln;

/// Processor time of this process in seconds.
double spent() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

rl::EnvironmentPtr cart_pole() { return rl::limited(rl::cart_pole(), rl::kCartPoleSteps); }
rl::EnvironmentPtr pendulum() { return rl::limited(rl::pendulum(), rl::kPendulumSteps); }

void measure_steps(std::int64_t environments, double seconds) {
  rl::VectorEnvironment worlds(cart_pole, environments, 1);
  Random random(1);
  std::vector<float> actions(worlds.count());
  std::int64_t steps = 0;
  const double start = spent();
  while (spent() - start < seconds)
    for (int i = 0; i < 10'000; ++i, steps += environments) {
      for (float& action : actions) worlds.action_space().sample(random, {&action, 1});
      worlds.step(actions);
    }
  std::printf("{\"rate\": %.0f}\n", static_cast<double>(steps) / (spent() - start));
}

template <rl::PolicyLearner A>
void train(A agent, const rl::MakeEnvironment& make, rl::VectorEnvironment worlds, std::int64_t steps,
           std::int64_t episodes, std::uint64_t seed) {
  rl::RlLearner learner(std::move(agent), std::move(worlds), {.steps = steps, .seed = seed});
  const double start = spent();
  const auto clock = std::chrono::steady_clock::now();
  learner.fit();
  const double used = spent() - start;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - clock;
  rl::VectorEnvironment fresh(make, 10, seed + 1000);
  std::printf("{\"score\": %.2f, \"user\": %.2f, \"seconds\": %.2f}\n", learner.evaluate(fresh, episodes).mean_reward(),
              used, passed.count());
}

void train(std::string_view agent, std::uint64_t seed) {
  const Device device = Device::cpu().autodiff();
  device.seed(seed);
  if (agent == "dqn") {
    rl::VectorEnvironment worlds(cart_pole, 1, seed);
    const rl::MlpConfig net{.in = 4, .out = 2, .activation = nn::Relu{}};
    rl::Dqn dqn(net.init(device), {.replay = {.capacity = 50'000}, .double_q = false}, worlds);
    train(std::move(dqn), cart_pole, std::move(worlds), 50'000, 100, seed);
  } else if (agent == "ppo") {
    rl::VectorEnvironment worlds(cart_pole, 8, seed);
    const rl::PpoConfig config{
        .rollout = {.steps = 32, .discount = 0.98, .lambda = 0.8}, .rate = 1e-3, .epochs = 20, .batch = 256};
    rl::Ppo ppo(rl::actor_critic(worlds, device), config, worlds);
    train(std::move(ppo), cart_pole, std::move(worlds), 100'000, 100, seed);
  } else if (agent == "sac") {
    rl::VectorEnvironment worlds(pendulum, 1, seed);
    const rl::MlpConfig actor{.in = 3, .out = 2, .activation = nn::Relu{}};
    rl::Sac sac(actor.init(device), rl::twin_critic(worlds, device, {64, 64}),
                {.common = {.replay = {.capacity = 20'000}, .rate = 1e-3}}, worlds);
    train(std::move(sac), pendulum, std::move(worlds), 10'000, 50, seed);
  } else {
    fail<ArgumentError>("bench_rl: no agent is named ", agent, ": dqn, ppo, sac");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return config::guarded([&] {
    const std::string command = argc > 1 ? argv[1] : "";
    require<ArgumentError>(argc == 4 && (command == "steps" || command == "train"),
                           "bench_rl: steps ENVIRONMENTS SECONDS, or train AGENT SEED");
    if (command == "steps") measure_steps(std::stoll(argv[2]), std::stod(argv[3]));
    else train(argv[2], std::stoull(argv[3]));
  });
}
