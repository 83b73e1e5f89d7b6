// An environment of one's own (lander.hpp; its test is lander_test.cpp), in which PPO learns to land gently; one landing is
// filmed. The training goes on from its checkpoints where it was stopped.
//
//   own_environment [--plain] [--web PORT] [--steps N] [--directory DIRECTORY] ...; --help lists all
#include <filesystem>
#include <optional>

#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/rl/agents/ppo.hpp"
#include "kiln/rl/watch.hpp"
#include "kiln/rl/wrappers.hpp"
#include "lander.hpp"

namespace {

using namespace kiln;

struct Run {
  bool plain = false;                // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  rl::PpoConfig agent = {.rollout = {.steps = 256}, .rate = 1e-3, .batch = 256, .entropy = 0.01};
  std::int64_t environments = 8, steps = 150'000, episodes = 100;
  std::uint64_t seed = 1;
  std::string directory = "artifacts/own_environment";  // of the checkpoints and the film
};

void learn(const Run& run) {
  const auto make = [] { return std::make_unique<example::Lander>(); };
  const Device device = Device::cpu().autodiff();
  device.seed(run.seed);
  rl::VectorEnvironment worlds(make, run.environments, run.seed);
  rl::Ppo agent(rl::actor_critic(worlds, device), run.agent, worlds);

  rl::RlLearner learner(std::move(agent), std::move(worlds), {.steps = run.steps, .seed = run.seed});
  rl::watch(learner, {run.plain, run.web});
  learner.evaluate_in(rl::VectorEnvironment(make, 10, run.seed + 1));
  learner.checkpoints(std::filesystem::path(run.directory) / "checkpoint").fit();

  rl::VectorEnvironment fresh(make, 10, run.seed + 2);
  print("mean reward of {} episodes: {:.2f}\n", run.episodes, learner.evaluate(fresh, run.episodes).mean_reward());
  rl::VectorEnvironment filmed([&] { return rl::filmed(make(), {.directory = run.directory, .milliseconds = 100}); }, 1,
                               1);
  (void)learner.evaluate(filmed, 1);
  print("filmed: {}/episode-0001.gif\n", run.directory);
}

const Help kHelp{
    R"(An environment of one's own (lander.hpp; its test is lander_test.cpp), in which PPO learns to land gently; one landing is
filmed. The training goes on from its checkpoints where it was stopped.

  own_environment [--plain] [--web PORT] [--steps N] [--directory DIRECTORY] ...)",
    {{"plain", "lines in place of the dashboard"},
     {"web", "a port: the dashboard as a page for a browser; 0: any port that is free"},
     {"agent", "settings of the agent (kiln/rl/agents)"},
     {"environments", "environments that run side by side"},
     {"steps", "steps of training"},
     {"episodes", "episodes of the final evaluation"},
     {"seed", "decides initial weights, order and noise"},
     {"directory", "the directory for the checkpoints and the film"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
