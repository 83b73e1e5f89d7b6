// A training loop by hand, with the pieces that a Learner is made of: it may be killed at any moment, and goes on where it
// was, to the same weights; Ctrl-C ends it after the step under way.
//
//   custom_loop [DIRECTORY]
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/checkpointer.hpp"
#include "kiln/train/log/files.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/metric/regression.hpp"
#include "kiln/train/still.hpp"

using namespace kiln;

namespace {

struct Model {
  nn::Linear hidden, output;
  nn::Dropout dropout{.probability = 0.2};

  Tensor<2> forward(const Tensor<3>& images) const {
    return output.forward(dropout.forward(hidden.forward(images.flatten<1>()).relu()));
  }
};

constexpr std::int64_t kEpochs = 3, kSeed = 1;

double train_digits(const std::filesystem::path& directory) {
  const Device device = Device::best().autodiff();
  device.seed(kSeed);
  Model model{nn::LinearConfig{.in = 28 * 28, .out = 64}.init(device),
              nn::LinearConfig{.in = 64, .out = 10}.init(device)};
  Adam optimizer = AdamConfig{}.init(model);
  training::Position at;
  metric::Mean loss;
  RecordedObjects all;
  all.add("model", model);
  all.add("optimizer", optimizer);
  all.add("at", at);
  all.add("loss", loss);

  Checkpointer checkpoints(directory / "checkpoint", {.every_steps = 20});
  if (const auto file = checkpoints.latest()) checkpoints.restore(all, *file);
  JsonLinesLog log(directory / "log.jsonl");
  log.on(training::Begin{.at = at});
  const Interrupter interrupter;
  const SignalScope signals;

  DataLoader loader(cached(Digits({.count = 4000, .seed = 1})), ImageBatcher::normalized(),
                    {.batch_size = 50, .shuffle = true, .seed = kSeed, .workers = 1});
  while (at.epoch < kEpochs && !interrupter.should_stop()) {
    loader.set_epoch(at.epoch, at.batch);
    for (ImageBatch& batch : loader) {
      const auto [images, targets] = to_tensors(std::move(batch), device);
      device.seed(Key{kSeed}.split(static_cast<std::uint64_t>(at.step)).bits);  // of dropout, in this step
      auto [value, grads] = value_and_grad(
          model, [&](const Model& m) { return nn::CrossEntropyLoss{}.forward(m.forward(images), targets); });
      model = optimizer.step(1e-3, std::move(model), grads);
      loss.update(value.item(), static_cast<double>(targets.numel()));
      ++at.batch, ++at.step;
      if (at.batch == loader.size()) break;
      if (checkpoints.due(at, false)) checkpoints.save(all, at);
      if (interrupter.should_stop()) break;
    }
    if (at.batch < loader.size()) break;
    log.on(training::Evaluation{at, "train", {{"loss", loss.value()}}});
    std::printf("epoch %lld: loss %.4f\n", static_cast<long long>(at.epoch + 1), loss.value());
    loss = {};
    ++at.epoch, at.batch = 0;
  }
  checkpoints.save(all, at);
  checkpoints.finish();

  const Model used = still(model);
  metric::Accuracy accuracy;
  DataLoader test(cached(Digits({.count = 1000, .seed = 2})), ImageBatcher::normalized(), {.batch_size = 250});
  for (ImageBatch& batch : test) {
    const auto [images, targets] = to_tensors(std::move(batch), device);
    accuracy.update(used.forward(images), targets);
  }
  return accuracy.value();
}

constexpr std::string_view kHelp =
    R"(A training loop by hand, with the pieces that a Learner is made of: it may be killed at any moment, and goes on where it
was, to the same weights; Ctrl-C ends it after the step under way.

  custom_loop [DIRECTORY])";

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = kiln::answered(argc, argv, kHelp, 1)) return *status;
  try {
    std::printf("accuracy %.4f\n", train_digits(argc > 1 ? argv[1] : "artifacts/custom_loop"));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
