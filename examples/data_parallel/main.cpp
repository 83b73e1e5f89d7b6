// Several processes, or threads, train one model on their shares of each batch: the numbers are those of one process with
// all of it, to rounding.
//
//   data_parallel                       one process
//   mpirun -n 2 data_parallel           two of them; Slurm's srun, or whatever else sets RANK and WORLD_SIZE, does as well
//   data_parallel --threads 2           two ranks of one process, each with a device of its own
//
// Each rank has a GPU of its own where there are as many; others share what there is.
//
// A second word is a directory for checkpoints: what was ended goes on there, on as many ranks as one likes.
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kiln/collective/launched_ranks.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/nn/norm/sync_batch_norm.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/evaluator.hpp"
#include "kiln/train/learner.hpp"
#include "kiln/train/log/progress.hpp"
#include "kiln/train/metric/accuracy.hpp"

using namespace kiln;

namespace {

struct Model {
  nn::Linear hidden, output;
  nn::BatchNorm norm;

  Tensor<2> forward(const Tensor<3>& images) const {
    return output.forward(norm.forward(hidden.forward(images.flatten<1>())).relu());
  }
};

/// This rank's share of a data set, in batches that are 96 of all ranks together.
DataLoader<ImageBatch> share(const DigitsConfig& digits, Sampler order, const Ranks& ranks) {
  return DataLoader(cached(Digits(digits)), ImageBatcher::normalized(),
                    {.batch_size = 96 / ranks->size(),
                     .seed = 1,
                     .sampler = sharded(std::move(order), ranks->rank(), ranks->size(), Rest::Keep)});
}

void train_digits(const Ranks& ranks, const Device& device, const std::string& directory) {
  require<ArgumentError>(96 % ranks->size() == 0, "data_parallel: ", ranks->size(),
                         " ranks do not divide a batch of 96");
  device.seed(1);
  Model model{nn::LinearConfig{.in = 28 * 28, .out = 64}.init(device),
              nn::LinearConfig{.in = 64, .out = 10}.init(device), nn::BatchNormConfig{.channels = 64}.init(device)};
  model = nn::sync_batch_norm(train(std::move(model)), ranks);
  const auto step = [&](const Model& m, ImageBatch batch) -> ClassificationOutput {
    const auto [images, targets] = to_tensors(std::move(batch), device);
    const Tensor<2> scores = m.forward(images);
    return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 3, .seed = 1}, ranks);
  learner.rate(1e-3).metric(metric::Accuracy{}).add(ProgressLines());
  if (!directory.empty()) learner.checkpoints(directory);
  auto training = share({.count = 4000, .seed = 1}, in_random_order(), ranks);
  auto validation = share({.count = 1000, .seed = 2}, in_order(), ranks);
  learner.fit(training, validation);

  Evaluator evaluator(learner.result(), step, ranks);
  evaluator.metric(metric::Accuracy{});
  auto test = share({.count = 1000, .seed = 3}, in_order(), ranks);
  const auto found = evaluator.measure("test", test);
  if (ranks->rank() == 0)
    std::printf("%d ranks: test loss %.4f, accuracy %.3f\n", ranks->size(), found.find("loss")->value,
                found.find("accuracy")->value);
}

/// The GPU for the rank that comes as number `place` on this machine, or else what all share.
Device own_device(int place, const Device& shared) {
  const std::string gpu = place == 0 ? "cuda" : "cuda:" + std::to_string(place);
  const std::vector<std::string> names = device_names();
  const bool there = std::ranges::find(names, gpu) != names.end();
  return (there ? Device::parse(gpu) : shared).autodiff();
}

/// As the launcher says; 0 without one.
int own_place() {
  for (const char* const name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* const said = std::getenv(name)) return std::atoi(said);
  return 0;
}

constexpr std::string_view kHelp =
    R"(Several processes, or threads, train one model on their shares of each batch: the numbers are those of one process with
all of it, to rounding.

  data_parallel                       one process
  mpirun -n 2 data_parallel           two of them; Slurm's srun, or whatever else sets RANK and WORLD_SIZE, does as well
  data_parallel --threads 2           two ranks of one process, each with a device of its own

Each rank has a GPU of its own where there are as many; others share what there is.

A second word is a directory for checkpoints: what was ended goes on there, on as many ranks as one likes.)";

}  // namespace

int main(int count, char** words) {
  if (const auto status = kiln::answered(count, words, kHelp, 3, {"--threads"})) return *status;
  try {
    const std::vector<std::string> said(words + 1, words + count);
    const bool threads = !said.empty() && said[0] == "--threads";
    require<ArgumentError>(threads ? said.size() >= 2 : said.size() < 2,
                           "data_parallel takes [--threads N] [DIRECTORY]; --help says more");
    const std::string directory = said.size() > (threads ? 2 : 0) ? said.back() : "";
    if (!threads) {
      train_digits(launched_ranks(), own_device(own_place(), Device::best()), directory);
      return 0;
    }
    std::vector<Device> devices;
    const auto ranks = static_cast<int>(whole_number(said[1], "--threads", 1, 1000));
    for (int i = 0; i < ranks; ++i) devices.push_back(own_device(i, another(Device::best())));
    on_each(devices, [&](const Ranks& ranks, const Device& device) { train_digits(ranks, device, directory); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "data_parallel: %s\n", error.what());
    return 1;
  }
}
