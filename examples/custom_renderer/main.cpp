// A display of training of one's own: a callback that gets the Learner's events, and draws a bar for each epoch and the
// best accuracy so far. It takes the place of the dashboard and of the lines (watch, ProgressLines).
//
//   custom_renderer [--epochs N] [--width N]; --help lists all
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/train/learner.hpp"
#include "kiln/train/metric/accuracy.hpp"

using namespace kiln;

namespace {

struct Run {
  std::int64_t epochs = 3;
  std::int64_t width = 40;  // of the bars, in letters
};

/// A checkpoint keeps `state` of the display.
struct Bars {
  std::int64_t width = 40;
  struct State {
    double best = 0;
  } state{};
  std::int64_t batches = 0, drawn = -1;

  void on(const training::Begin& begin) {
    batches = begin.batches;
    print("{} parameters, {} steps in an epoch\n", begin.parameters, batches);
  }
  /// The bar grows as the epoch goes on.
  void on(const training::Step& step) {
    const std::int64_t of_epoch = step.at.batch == 0 ? batches : step.at.batch;
    const std::int64_t full = batches > 0 ? of_epoch * width / batches : 0;
    if (std::exchange(drawn, full) == full) return;
    const auto letters = [](std::int64_t count, char letter) {
      return std::string(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), letter);
    };
    print("\r[{}{}] loss {:.3f}", letters(full, '#'), letters(width - full, '.'), step.loss);
    std::fflush(stdout);
  }
  void on(const training::Evaluation& evaluation) {
    if (evaluation.split != "valid") return;
    const double accuracy = evaluation.reading("Bars", "accuracy").value;
    print("  accuracy {:.3f}{}\n", accuracy, accuracy > state.best ? ", the best so far" : "");
    state.best = std::max(state.best, accuracy);
  }
  void on(const training::RunEnd& end) { print("{}; best accuracy {:.3f}\n", end.reason, state.best); }
};

struct Model {
  nn::Linear hidden, output;
  Tensor<2> forward(const Tensor<3>& images) const {
    return output.forward(hidden.forward(images.flatten<1>()).relu());
  }
};

void train_digits(const Run& run) {
  require<ArgumentError>(run.width >= 1, "--width ", run.width, " must be at least 1");
  const Device device = Device::best().autodiff();
  device.seed(1);
  const Model model{nn::LinearConfig{.in = 28 * 28, .out = 64}.init(device),
                    nn::LinearConfig{.in = 64, .out = 10}.init(device)};
  const auto step = [device](const Model& m, ImageBatch batch) -> ClassificationOutput {
    const auto [images, targets] = to_tensors(std::move(batch), device);
    const Tensor<2> scores = m.forward(images);
    return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
  };
  DataLoader train(cached(Digits({.count = 4000, .seed = 1})), ImageBatcher::normalized(),
                   {.batch_size = 50, .shuffle = true});
  DataLoader valid(cached(Digits({.count = 1000, .seed = 2})), ImageBatcher::normalized(), {.batch_size = 250});

  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = run.epochs});
  learner.rate(1e-3).metric(metric::Accuracy{}).add(Bars{.width = run.width});
  learner.fit(train, valid);
}

const Help kHelp{
    R"(A display of training of one's own: a callback that gets the Learner's events, and draws a bar for each epoch and the
best accuracy so far. It takes the place of the dashboard and of the lines (watch, ProgressLines).

  custom_renderer [--epochs N] [--width N])",
    {{"epochs", "how often training goes through the data"}, {"width", "the width of the bars, in letters"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, train_digits, kHelp); }
