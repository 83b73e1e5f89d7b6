// A model whose layers are on two devices, trained in micro-batches: where the devices work on their own, as GPUs do, the
// second computes one micro-batch while the first computes the next.
//
//   two_devices [DEVICE DEVICE]      two_devices cuda cuda:1
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include <cstdio>

#include "kiln/backend/router/router.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/optim/gradients.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/still.hpp"

using namespace kiln;

namespace {

struct Model {
  nn::Linear first, second, third, output;

  /// images [batch, 28, 28] -> scores [batch, 10]
  Tensor<2> forward(const Tensor<3>& images) const {
    const Tensor<2> low = second.forward(first.forward(images.flatten<1>()).relu()).relu();
    return output.forward(third.forward(low).relu());
  }
};

constexpr std::int64_t kBatch = 64, kMicroBatches = 4;
constexpr int kInFlight = 2;  // micro-batches whose activations are in memory at once

Model model_on(const Device& device) {
  const auto layer = [&](std::int64_t in, std::int64_t out) {
    return nn::LinearConfig{.in = in, .out = out}.init(device);
  };
  return {layer(28 * 28, 128), layer(128, 128), layer(128, 64), layer(64, 10)};
}

double accuracy_of(const Model& model, const Device& device) {
  metric::Accuracy accuracy;
  DataLoader test(Digits({.count = 1000, .seed = 2}), ImageBatcher::normalized(), {.batch_size = 250});
  for (ImageBatch& batch : test) {
    const auto [images, targets] = to_tensors(std::move(batch), device);
    accuracy.update(model.forward(images), targets);
  }
  return accuracy.value();
}

void train_on(const Device& first, const Device& second) {
  const Device device = Device::router({first, second}).autodiff();
  device.seed(1);
  Model model = place(model_on(device), device, {{"first", 0}, {"second", 0}, {"*", 1}});
  Adam optimizer = AdamConfig{}.init(model);
  DataLoader loader(cached(Digits({.count = 4000, .seed = 1})), ImageBatcher::normalized(),
                    {.batch_size = kBatch / kMicroBatches, .shuffle = true, .seed = 1, .drop_last = true});
  GradientsAccumulator gradients;
  MicroBatches in_flight(device, kInFlight);
  std::int64_t steps = 0;
  const RouterMoves before = router_moves(device);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.set_epoch(epoch);
    for (ImageBatch& batch : loader) {  // a micro-batch
      in_flight.begin();                // nothing else here waits for a device
      const auto [images, targets] = to_tensors(std::move(batch), device);
      gradients.add(value_and_grad(model, [&](const Model& m) {
                      return nn::CrossEntropyLoss{}.forward(m.forward(images), targets);
                    }).grads);
      if (gradients.count() < kMicroBatches) continue;
      model = optimizer.step(1e-3, std::move(model), gradients.mean());
      ++steps;
    }
  }
  device.sync();
  const RouterMoves moves = router_moves(device);
  std::printf("%lld steps on %s, %.2f moves and %.1f KiB each\n", static_cast<long long>(steps), device.name().c_str(),
              static_cast<double>(moves.count - before.count) / static_cast<double>(steps),
              static_cast<double>(moves.bytes - before.bytes) / 1024 / static_cast<double>(steps));
  std::printf("accuracy %.3f\n", accuracy_of(still(model), device));
}

constexpr std::string_view kHelp =
    R"(A model whose layers are on two devices, trained in micro-batches: where the devices work on their own, as GPUs do, the
second computes one micro-batch while the first computes the next.

  two_devices [DEVICE DEVICE]      two_devices cuda cuda:1)";

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = kiln::answered(argc, argv, kHelp, 2)) return *status;
  try {
    train_on(Device::parse(argc > 2 ? argv[1] : "cpu"), Device::parse(argc > 2 ? argv[2] : "reference"));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
