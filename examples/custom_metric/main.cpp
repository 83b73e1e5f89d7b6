// A metric of one's own, in a Learner: how often the model is sure of itself and wrong. It adds up over batches of any size,
// is saved with checkpoints, and is named and logged as any other.
//
//   custom_metric [--plain] [--web PORT] [--epochs N]; --help lists all
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include <optional>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/learner.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/show/watch.hpp"

using namespace kiln;

namespace {

/// The share of items that a wrong class has more than `sure` of the probability for.
struct ConfidentMistakes {
  double sure = 0.9;
  metric::Total mistakes{}, count{};

  void update(const ClassificationOutput& output) {
    const Tensor<2> chances = output.scores.softmax(1);
    const auto wrong = output.scores.argmax(1).ne(output.targets);
    mistakes += chances.max(1).gt(sure).logical_and(wrong).to_float().sum().item();
    count += static_cast<double>(output.items());
  }
  double value() const { return metric::mean("confident mistakes", mistakes, count); }
};

struct Run {
  bool plain = false;                // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  std::int64_t epochs = 3;
};

struct Model {
  nn::Linear hidden, output;
  Tensor<2> forward(const Tensor<3>& images) const {
    return output.forward(hidden.forward(images.flatten<1>()).relu());
  }
};

void train_digits(const Run& run) {
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
                   {.batch_size = 50, .shuffle = true, .workers = 1});
  DataLoader valid(cached(Digits({.count = 1000, .seed = 2})), ImageBatcher::normalized(), {.batch_size = 300});

  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = run.epochs});
  learner.rate(1e-3).metric(metric::Accuracy{}).metric(ConfidentMistakes{.sure = 0.8});
  watch(learner, {run.plain, run.web});
  learner.fit(train, valid);
}

const Help kHelp{
    R"(A metric of one's own, in a Learner: how often the model is sure of itself and wrong. It adds up over batches of any size,
is saved with checkpoints, and is named and logged as any other.

  custom_metric [--plain] [--web PORT] [--epochs N])",
    {{"plain", "lines in place of the dashboard"},
     {"web", "a port: the dashboard as a page for a browser; 0: any port that is free"},
     {"epochs", "how often training goes through the data"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, train_digits, kHelp); }
