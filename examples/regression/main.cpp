// Prices of Californian districts from what a census knows of them (Pace, Barry, "Sparse spatial autoregressions", 1997): least
// squares, and a small network beside it, trained by a Learner.
//
//   regression --data housing.csv [--run DIRECTORY] [--plain] [--web PORT] [--epochs N] [--rate X] ...; --help lists all
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "examples/regression/districts.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train.hpp"
#include "models/regressor.hpp"

namespace {

using namespace kiln;
using housing::all_of, housing::Districts, housing::Example;

struct Run {
  std::string data = "housing.csv";
  std::optional<std::string> run;  // a directory for logs and checkpoints, in which a training that was stopped goes on
  bool plain = false;              // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  std::int64_t epochs = 150, batch = 256;
  double rate = 5e-3;
  std::uint64_t seed = 1;
};

/// What decides the weights. How far to go, and who looks on, may change where a training goes on.
Json kept(Run run) {
  run.run.reset();
  run.plain = false;
  run.web.reset();
  run.epochs = 0;
  return to_json(run);
}

void compare(const Run& run) {
  const Device device = Device::best();
  device.seed(run.seed);
  require<IoError>(std::filesystem::exists(run.data), "there is no ", run.data,
                   ": get it by\n  curl -LO "
                   "https://raw.githubusercontent.com/ageron/handson-ml2/master/datasets/housing/housing.csv");
  const auto examples = in_memory(housing::read_examples(run.data));
  const std::int64_t held_out = examples->size() / 5;
  const auto [train_part, test_part] = split(examples, {examples->size() - held_out, held_out}, run.seed);

  // Each column gets mean 0 and variance 1, by the districts that are learned from.
  const Districts known = all_of(train_part, device);
  const Tensor<2> mean = known.features.mean(keep, 0), deviation = known.features.std(keep, 0) + 1e-6;
  const auto scaled = [=](const Districts& d) { return Districts{(d.features - mean) / deviation, d.prices}; };
  std::printf("least squares: off by %.0f dollars (root mean square over %lld districts that were held out)\n",
              housing::least_squares(scaled(known), scaled(all_of(test_part, device))),
              static_cast<long long>(held_out));

  auto train_loader =
      housing::loader(train_part, {.batch_size = run.batch, .shuffle = true, .seed = run.seed, .drop_last = true});
  auto test_loader = housing::loader(test_part, {.batch_size = 1024});

  using models::Regressor;
  const Regressor model = models::RegressorConfig{.features = known.features.dim(1)}.init(device.autodiff());
  const auto step = [=](const Regressor& m, const std::vector<Example>& batch) -> RegressionOutput {
    const Districts d = scaled(to_tensors(batch, device));
    const Tensor<1> guesses = m.forward(d.features);
    return {mse_loss(guesses, d.prices), guesses.unsqueeze(1), d.prices.unsqueeze(1)};
  };
  Learner learner(train(model), AdamConfig{}.init(model), step, {.epochs = run.epochs, .seed = run.seed});
  learner.schedule(CosineConfig{.peak = run.rate, .steps = run.epochs * train_loader.size()});
  learner.metric(metric::RootMeanSquaredError{}).metric(metric::MeanAbsoluteError{}).metric(metric::R2{});
  learner.train_metric(metric::ItemsPerSecond{}).train_metric(metric::CpuUse{}).train_metric(metric::CpuMemory{});
  watch(learner, {run.plain, run.web});
  if (run.run) {
    const std::filesystem::path directory = *run.run;
    learner.add(RunDirectory(directory, to_json(run)));
    learner.checkpoints(directory / "checkpoint", {.every_epochs = 10, .last = 2, .exact = false}, true,
                        kept(run));  // not exact: with other epochs the rate falls otherwise
  }
  learner.fit(train_loader, test_loader);

  const NoGrad pause;
  const Districts test = scaled(all_of(test_part, device));
  const Tensor<1> guesses = learner.result().forward(test.features);
  std::printf("network: off by %.0f dollars\n",
              1e5 * std::sqrt(static_cast<double>(mse_loss(guesses, test.prices).item())));
}

const Help kHelp{
    R"(Prices of Californian districts from what a census knows of them (Pace, Barry, "Sparse spatial autoregressions", 1997): least
squares, and a small network beside it, trained by a Learner.

  regression --data housing.csv [--run DIRECTORY] [--plain] [--web PORT] [--epochs N] [--rate X] ...

It needs housing.csv (California housing), and Kiln comes without it:
  curl -LO https://raw.githubusercontent.com/ageron/handson-ml2/master/datasets/housing/housing.csv)",
    {{"data", "a CSV file of California housing"},
     {"run", "a directory for logs and checkpoints, in which a training that was stopped goes on"},
     {"plain", "lines in place of the dashboard"},
     {"web", "a port: the dashboard as a page for a browser; 0: any port that is free"},
     {"epochs", "how often training goes through the data"},
     {"batch", "items in a step"},
     {"rate", "the learning rate, at its highest"},
     {"seed", "decides initial weights, order and noise"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, compare, kHelp); }
