// Proximal policy optimisation learns to catch balls from pixels, by a convolutional network of one's own; then it is watched
// over 100 episodes, one of which is filmed. An episode has five balls, each worth 1, or -1 where it is missed.
//
//   ppo [--plain] [--web PORT] [--steps N] [--agent.clip X] [--film DIRECTORY] ...; --help lists all
#include <optional>

#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/rl/agents/ppo.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/watch.hpp"
#include "kiln/rl/wrappers.hpp"

namespace {

using namespace kiln;

constexpr std::int64_t kSide = 10, kFrames = 2;  // two pictures: which way the ball goes

struct Run {
  bool plain = false;                // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  rl::PpoConfig agent = {.rollout = {.steps = 64, .discount = 0.95, .lambda = 0.9},
                         .rate = 2e-3,
                         .epochs = 4,
                         .batch = 128,
                         .entropy = 0.001};
  std::int64_t environments = 8, steps = 300'000, episodes = 100;
  std::uint64_t seed = 1;
  std::string film = "artifacts/ppo";
};

/// Agents give observations as rows of numbers, which this reads as pictures.
struct PictureNet {
  nn::Conv2d first, second;
  nn::Linear output;

  Tensor<2> forward(const Tensor<2>& rows) const {
    const Tensor<4> pictures = rows.reshape(rows.dim(0), kFrames, kSide, kSide);
    return output.forward(second.forward(first.forward(pictures).relu()).relu().flatten<1>());
  }
};
PictureNet picture_net(std::int64_t outputs, double gain, const Device& device) {
  return {nn::Conv2dConfig{.in = kFrames, .out = 8, .kernel = {3}, .stride = {2}, .padding = {1}}.init(device),
          nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}, .stride = {2}, .padding = {1}}.init(device),
          nn::LinearConfig{.in = 16 * 3 * 3, .out = outputs, .initializer = nn::init::Orthogonal{gain}}.init(device)};
}

void learn(const Run& run) {
  const auto make = [] { return rl::stacked(rl::catch_ball(kSide), kFrames); };
  const Device device = Device::cpu().autodiff();
  device.seed(run.seed);
  rl::VectorEnvironment worlds(make, run.environments, run.seed);
  rl::Ppo agent(rl::ActorCritic<PictureNet>{picture_net(3, 0.01, device), picture_net(1, 1, device)}, run.agent,
                worlds);

  rl::RlLearner learner(std::move(agent), std::move(worlds), {.steps = run.steps, .seed = run.seed});
  rl::watch(learner, {run.plain, run.web});
  learner.evaluate_in(rl::VectorEnvironment(make, 10, run.seed + 1)).fit();

  rl::VectorEnvironment fresh(make, 10, run.seed + 2);
  print("mean reward of {} episodes: {:.2f}\n", run.episodes, learner.evaluate(fresh, run.episodes).mean_reward());
  rl::VectorEnvironment filmed([&] { return rl::filmed(make(), {.directory = run.film, .milliseconds = 100}); }, 1, 1);
  (void)learner.evaluate(filmed, 1);
  print("filmed: {}/episode-0001.gif\n", run.film);
}

const Help kHelp{
    R"(Proximal policy optimisation learns to catch balls from pixels, by a convolutional network of one's own; then it is watched
over 100 episodes, one of which is filmed. An episode has five balls, each worth 1, or -1 where it is missed.

  ppo [--plain] [--web PORT] [--steps N] [--agent.clip X] [--film DIRECTORY] ...)",
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
