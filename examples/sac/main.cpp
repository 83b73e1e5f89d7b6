// Soft actor-critic swings a pendulum up and holds it there; then it is watched over 100 episodes, one of which is filmed. The
// best reward of an episode is some -150: what it takes to swing up from where the pendulum hangs.
//
//   sac [--plain] [--web PORT] [--steps N] [--agent.common.rate X] [--film DIRECTORY] ...; --help lists all
#include <optional>

#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/rl/agents/sac.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/watch.hpp"
#include "kiln/rl/wrappers.hpp"

namespace {

using namespace kiln;

struct Run {
  bool plain = false;                // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  rl::SacConfig agent = {.common = {.replay = {.capacity = 20'000}, .rate = 1e-3}};
  std::vector<std::int64_t> hidden = {64, 64};
  std::int64_t steps = 12'000, episodes = 100;
  std::uint64_t seed = 1;
  std::string film = "artifacts/sac";
};

void learn(const Run& run) {
  const auto make = [] { return rl::limited(rl::pendulum(), rl::kPendulumSteps); };
  const Device device = Device::cpu().autodiff();
  device.seed(run.seed);
  rl::VectorEnvironment worlds(make, 1, run.seed);
  const rl::MlpConfig actor{.in = 3, .out = 2, .hidden = run.hidden, .activation = nn::Relu{}};
  rl::Sac agent(actor.init(device), rl::twin_critic(worlds, device, run.hidden), run.agent, worlds);

  rl::RlLearner learner(std::move(agent), std::move(worlds),
                        {.steps = run.steps, .evaluate_every = 2000, .log_every = 200, .seed = run.seed});
  rl::watch(learner, {run.plain, run.web});
  learner.evaluate_in(rl::VectorEnvironment(make, 10, run.seed + 1)).fit();

  rl::VectorEnvironment fresh(make, 10, run.seed + 2);
  print("mean reward of {} episodes: {:.1f}\n", run.episodes, learner.evaluate(fresh, run.episodes).mean_reward());
  rl::VectorEnvironment filmed([&] { return rl::filmed(make(), {.directory = run.film, .steps_per_picture = 2}); }, 1,
                               3);
  (void)learner.evaluate(filmed, 1);
  print("filmed: {}/episode-0001.gif\n", run.film);
}

const Help kHelp{
    R"(Soft actor-critic swings a pendulum up and holds it there; then it is watched over 100 episodes, one of which is filmed. The
best reward of an episode is some -150: what it takes to swing up from where the pendulum hangs.

  sac [--plain] [--web PORT] [--steps N] [--agent.common.rate X] [--film DIRECTORY] ...)",
    {{"plain", "lines in place of the dashboard"},
     {"web", "a port: the dashboard as a page for a browser; 0: any port that is free"},
     {"agent", "settings of the agent (kiln/rl/agents)"},
     {"hidden", "sizes of the hidden layers"},
     {"steps", "steps of training"},
     {"episodes", "episodes of the final evaluation"},
     {"seed", "decides initial weights, order and noise"},
     {"film", "the directory for the film"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
