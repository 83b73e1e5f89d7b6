// A strategy of one's own within a Learner: how a batch becomes an update. This one is sharpness-aware minimisation
// (Foret, Kleiner, Mobahi, Neyshabur, "Sharpness-aware minimization for efficiently improving generalization", 2021):
// it climbs to the worst weights nearby, takes the gradient there, and steps from where it was. The Learner's data,
// metrics, logs and checkpoints stay as they are.
//
//   custom_strategy [--radius X] [--epochs N] ...; radius 0 is the usual step; --help lists all
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/train/learner.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/show/watch.hpp"

using namespace kiln;

namespace {

struct Run {
  double radius = 0.05;  // how far away the worst weights are looked for
  std::int64_t epochs = 3;
  double rate = 1e-3;
  bool plain = false;  // lines in place of the dashboard
};

struct Model {
  nn::Linear hidden, output;
  Tensor<2> forward(const Tensor<3>& images) const {
    return output.forward(hidden.forward(images.flatten<1>()).relu());
  }
};

/// The model `radius` away in the direction of its gradients.
Model climbed(const Model& model, const GradientsParams& grads, double radius) {
  Value squares;
  for (const auto& [path, grad] : grads.by_path) squares = squares ? squares + sum(square(grad)) : sum(square(grad));
  const Value scale = radius / (sqrt(squares) + 1e-12);
  return map_params(model, [&](const std::string& path, const Value& weight) {
    const auto found = grads.by_path.find(path);
    return found == grads.by_path.end() ? weight : weight.detach() + found->second * scale;
  });
}

void train_digits(const Run& run) {
  require<ArgumentError>(run.radius >= 0, "--radius ", run.radius, " must not be negative");
  const Device device = Device::best().autodiff();
  device.seed(1);
  const Model model{nn::LinearConfig{.in = 28 * 28, .out = 64}.init(device),
                    nn::LinearConfig{.in = 64, .out = 10}.init(device)};
  const auto output = [device](const Model& m, ImageBatch batch) -> ClassificationOutput {
    const auto [images, targets] = to_tensors(std::move(batch), device);
    const Tensor<2> scores = m.forward(images);
    return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
  };
  const auto step = [&](Model& m, Adam& optimizer, const StepContext& context, const ImageBatch& batch) {
    std::optional<ClassificationOutput> here;
    auto [loss, uphill] = value_and_grad(m, [&](const Model& at) { return here.emplace(output(at, batch)).loss; });
    if (run.radius > 0) {
      const Model worst = climbed(m, uphill, run.radius);
      uphill = value_and_grad(worst, [&](const Model& at) { return output(at, batch).loss; }).grads;
    }
    m = optimizer.step(context.rate(), std::move(m), context.mean(std::move(uphill), here->items(), m));
    return *here;
  };
  DataLoader train(cached(Digits({.count = 4000, .seed = 1})), ImageBatcher::normalized(),
                   {.batch_size = 50, .shuffle = true});
  DataLoader valid(cached(Digits({.count = 1000, .seed = 2})), ImageBatcher::normalized(), {.batch_size = 250});

  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = run.epochs});
  learner.rate(run.rate).metric(metric::Accuracy{}).valid_step(output);
  watch(learner, {run.plain, {}});
  learner.fit(train, valid);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, train_digits); }
