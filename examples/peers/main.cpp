// Machines that do not trust the network between them learn one model, each from data that never leave it: all that
// they send each other goes over TLS, and who does not know their secret is turned away.
//
//   export KILN_RANK_SECRET=$(openssl rand -hex 32)              once; the same on all machines
//   peers --rank 0 --size 2 --address first.example:29400        on the first machine, which the others must reach
//   peers --rank 1 --size 2 --address first.example:29400        on the second
//
// Each rank listens at a port of its own, too, that ranks after it connect with. Over the open internet use a VPN
// (WireGuard, ...) besides: docs/net.md says why.
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "kiln/collective/socket_ranks.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/kiln.hpp"
#include "kiln/net/options.hpp"
#include "kiln/nn.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/learner.hpp"

namespace {

using namespace kiln;

struct Run {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1:29400";  // of rank 0
  std::int64_t epochs = 300;
  double timeout = 60;  // seconds to wait for others
};

/// What a machine has measured: y = sin(3 x), where each machine has met other x.
struct Example {
  float x, y;
};
DatasetPtr<Example> measured(int rank, int size) {
  std::vector<Example> all;
  for (int i = 0; i < 256; ++i) {
    const float x = -1 + 2 * (static_cast<float>(rank) + static_cast<float>(i) / 256) / static_cast<float>(size);
    all.push_back({x, std::sin(3 * x)});
  }
  return in_memory(std::move(all));
}

struct Model {
  nn::Linear first, second;
  Tensor<2> forward(const Tensor<2>& x) const { return second.forward(first.forward(x).tanh()); }
};

void learn(const Run& run) {
  Launch launch = Launch::from_environment();  // the secret
  require<ArgumentError>(!launch.secret.empty(),
                         "peers: set KILN_RANK_SECRET, the same on all machines (openssl rand -hex 32)");
  const net::Address address = net::Address::parse(run.address, launch.port);
  require<ArgumentError>(run.size > 0 && run.rank >= 0 && run.rank < run.size, "peers: there is no rank ", run.rank,
                         " of ", run.size);
  launch.rank = run.rank;
  launch.size = run.size;
  launch.address = address.host;
  launch.port = address.port;
  const Ranks ranks = socket_ranks(launch, {.timeout = run.timeout});

  const Device device = Device::cpu();
  const Model model{nn::LinearConfig{.in = 1, .out = 32}.init(device.autodiff()),
                    nn::LinearConfig{.in = 32, .out = 1}.init(device.autodiff())};
  const auto step = [&](const Model& m, const std::vector<Example>& batch) -> RegressionOutput {
    std::vector<float> x, y;
    for (const Example& example : batch) x.push_back(example.x), y.push_back(example.y);
    const Tensor<2> inputs = Tensor<1>::of(x, device).unsqueeze(1), targets = Tensor<1>::of(y, device).unsqueeze(1);
    const Tensor<2> guesses = m.forward(inputs);
    return {mse_loss(guesses, targets), guesses, targets};
  };
  DataLoader own(measured(run.rank, run.size),
                 [](std::span<const Example> batch) { return std::vector<Example>(batch.begin(), batch.end()); },
                 {.batch_size = 64, .shuffle = true, .seed = 1});
  Learner learner(train(model), AdamConfig{}.init(model), step, {.epochs = run.epochs, .seed = 1}, ranks);
  learner.rate(0.01).fit(own);

  // What only other machines have measured is known here now.
  const NoGrad pause;
  const Tensor<2> x = linspace(-1, 1, 101, device).unsqueeze(1);
  std::printf("rank %d of %d: largest error from -1 to 1: %.3f\n", run.rank, run.size,
              static_cast<double>((learner.result().forward(x) - (x * 3).sin()).abs().max().item()));
}

const Help kHelp{
    R"(Machines that do not trust the network between them learn one model, each from data that never leave it: all that
they send each other goes over TLS, and who does not know their secret is turned away.

  export KILN_RANK_SECRET=$(openssl rand -hex 32)              once; the same on all machines
  peers --rank 0 --size 2 --address first.example:29400        on the first machine, which the others must reach
  peers --rank 1 --size 2 --address first.example:29400        on the second

Each rank listens at a port of its own, too, that ranks after it connect with. Over the open internet use a VPN
(WireGuard, ...) besides: docs/net.md says why.)",
    {{"rank", "the number of this machine, from 0"},
     {"size", "how many machines there are"},
     {"address", "host and port of rank 0"},
     {"epochs", "how often each machine goes through its data"},
     {"timeout", "seconds to wait for others"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
