// Deep Q-learning balances a pole on a cart, 500 steps at most; then it is watched over 100 episodes, one of which is filmed.
//
//   dqn [--plain] [--web PORT] [--steps N] [--agent.rate X] [--film DIRECTORY] ...; --help lists all
#include <optional>

#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/rl/agents/dqn.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/watch.hpp"
#include "kiln/rl/wrappers.hpp"

namespace {

using namespace kiln;

struct Run {
  bool plain = false;                // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  rl::DqnConfig agent = {
      .rate = 2.3e-3, .steps_per_update = 2, .target_every = 128, .epsilon_end = 0.04, .epsilon_steps = 8000};
  std::int64_t environments = 1, steps = 50'000, episodes = 100;
  std::uint64_t seed = 1;
  std::string film = "artifacts/dqn";
};

void learn(const Run& run) {
  const auto make = [] { return rl::limited(rl::cart_pole(), rl::kCartPoleSteps); };
  const Device device = Device::cpu().autodiff();  // for a network this small a GPU is the slower one
  device.seed(run.seed);
  rl::VectorEnvironment worlds(make, run.environments, run.seed);
  rl::Dqn agent(rl::MlpConfig{.in = 4, .out = 2}.init(device), run.agent, worlds);

  rl::RlLearner learner(std::move(agent), std::move(worlds), {.steps = run.steps, .seed = run.seed});
  rl::watch(learner, {run.plain, run.web});
  learner.evaluate_in(rl::VectorEnvironment(make, 10, run.seed + 1)).fit();

  rl::VectorEnvironment fresh(make, 10, run.seed + 2);
  print("mean reward of {} episodes: {:.1f}\n", run.episodes, learner.evaluate(fresh, run.episodes).mean_reward());
  rl::VectorEnvironment filmed([&] { return rl::filmed(make(), {.directory = run.film, .steps_per_picture = 5}); }, 1,
                               1);
  (void)learner.evaluate(filmed, 1);
  print("filmed: {}/episode-0001.gif\n", run.film);
}

const Help kHelp{
    R"(Deep Q-learning balances a pole on a cart, 500 steps at most; then it is watched over 100 episodes, one of which is filmed.

  dqn [--plain] [--web PORT] [--steps N] [--agent.rate X] [--film DIRECTORY] ...)",
    {{"plain", "lines in place of the dashboard"},
     {"web", "a port: the dashboard as a page for a browser; 0: any port that is free"},
     {"agent", "settings of the agent (kiln/rl/agents)"},
     {"environments", "environments that run side by side"},
     {"steps", "steps of training"},
     {"episodes", "episodes of the final evaluation"},
     {"seed", "decides initial weights, order and noise"},
     {"film", "the directory for the film"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
