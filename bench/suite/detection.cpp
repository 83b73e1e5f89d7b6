// A training step of a detector: the network, the assignment of cells to boxes, the loss, its gradients and AdamW's update.
#include <memory>

#include "bench/suite/workload.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/optim.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "models/detection/yolox_loss.hpp"

namespace bench {
namespace {

constexpr int kBoxes = 8;  // of each picture

/// Boxes on a grid, of sides from a tenth to a third of the picture's; peers/torch_suite.py has the same.
std::vector<std::vector<Box>> boxes_of(std::int64_t pictures, std::int64_t pixels) {
  const double side = static_cast<double>(pixels);
  std::vector<std::vector<Box>> all(static_cast<std::size_t>(pictures));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (int j = 0; j < kBoxes; ++j) {
      const double size = side * (0.1 + 0.03 * j);
      all[i].push_back({side * (j % 4) / 4, side * (j / 4) / 2, size, size, static_cast<std::int64_t>(i + j) % 80});
    }
  return all;
}

struct Training {
  models::Yolox model;
  AdamW optimizer = AdamWConfig{.weight_decay = 0.01}.init(model);
};

Sample training(std::int64_t pictures, std::int64_t pixels) {
  const auto state = std::make_shared<Training>(Training{train(models::yolox("nano").init(device().autodiff()))});
  const Tensor<4> images = randn({pictures, 3, pixels, pixels}, device()) * 60 + 120;
  return timed(device(), [=, boxes = boxes_of(pictures, pixels)] {
    auto [loss, grads] = value_and_grad(state->model, [&](const models::Yolox& m) {
      return models::YoloxLoss{}.forward(m.forward(images), boxes).loss;
    });
    state->model = state->optimizer.step(1e-4, std::move(state->model), grads);
    return Values{loss.value()};
  });
}

}  // namespace

// The network's operations are those that its authors count, 1.08e9 for 416 x 416 pixels; three times as many for a step.
std::vector<Workload> detection_workloads() {
  const std::int64_t pictures = on_gpu() ? 64 : 8, pixels = on_gpu() ? 416 : 256;
  return {{.name = text("yolox_nano_train_b", pictures, "_", pixels, "px"),
           .work = {.flops = 3 * static_cast<double>(pictures * pixels * pixels) * 1.08e9 / (416 * 416)},
           .make = [=] { return training(pictures, pixels); }}};
}

}  // namespace bench
