// A diffusion model learns to draw the digit that it is told; how many of them a classifier that learned from the same
// images reads as that, and a picture: a row for each digit.
//
//   diffusion [--side N] [--epochs N] [--draw.guidance X] [--picture FILE.png] ...; --help lists all
#include <algorithm>

#include "examples/guide/model.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/data/png.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/still.hpp"
#include "models/diffusion.hpp"

namespace {

using namespace kiln;
using models::Denoiser;

struct Run {
  std::int64_t digits = 10'000, side = 16;
  models::DenoiserConfig model = {.widths = {24, 48, 48}};
  std::int64_t epochs = 10, batch = 64;
  double rate = 2e-3;
  double untold = 0.1;  // the share of images whose class the model is not told
  models::SamplingOptions draw = {.guidance = 1};
  std::uint64_t seed = 1;
  std::string picture = "diffusion.png";

  void check() const {
    require<ArgumentError>(draw.steps > 0 && draw.steps <= model.steps, "images cannot be drawn in ", draw.steps,
                           " steps of a schedule that has ", model.steps);
  }
};

/// Reads digits; a second or two of the guide.
guide::Model trained_reader(const DatasetPtr<Image>& images, const Device& device) {
  guide::Model reader = guide::ModelConfig{.hidden_size = 128, .dropout = 0.2}.init(device);
  Adam adam = AdamConfig{}.init(reader);
  for (ImageBatch& host : DataLoader(images, ImageBatcher::normalized(), {.batch_size = 64, .shuffle = true})) {
    const auto batch = to_tensors(std::move(host), device);
    auto [loss, grads] = value_and_grad(
        reader, [&](const guide::Model& m) { return cross_entropy(m.forward(batch.images), batch.targets); });
    reader = adam.step(2e-3, std::move(reader), grads);
  }
  return still(std::move(reader));
}

/// How many of the images it reads as their labels say, in percent.
double accuracy(const guide::Model& reader, const DatasetPtr<Image>& images, const Device& device) {
  metric::Accuracy read;
  for (ImageBatch& host : DataLoader(images, ImageBatcher::normalized(), {.batch_size = 250})) {
    const auto batch = to_tensors(std::move(host), device);
    read.update(reader.forward(batch.images), batch.targets);
  }
  return 100 * read.value();
}

/// Numbers from 0 to 1 as the model has them, from -1 to 1, and back.
Tensor<4> to_model(const Tensor<3>& images) { return images.unsqueeze(1) * 2 - 1; }
Tensor<3> from_model(const Tensor<4>& x) { return ((x + 1) * 0.5).clamp(0.0, 1.0).squeeze(1); }

Denoiser learn(const Run& run, const DatasetPtr<Image>& digits, const Device& device) {
  Denoiser model = run.model.init(device);
  Adam adam = AdamConfig{}.init(model);
  WeightAverage average = EmaConfig{.decay = 0.998, .warmup = true}.init(model);
  DataLoader loader(digits, ImageBatcher{},
                    {.batch_size = run.batch, .shuffle = true, .seed = run.seed, .workers = 1, .drop_last = true});
  const std::int64_t all_steps = run.epochs * loader.size(), warmup = std::min<std::int64_t>(100, all_steps / 10);
  auto schedule = CosineConfig{.peak = run.rate, .warmup = warmup, .steps = all_steps}.init();
  for (std::int64_t epoch = 1; epoch <= run.epochs; ++epoch) {
    double total = 0;
    for (ImageBatch& host : loader) {
      const auto batch = to_tensors(std::move(host), device);
      const Tensor<4> images = to_model(batch.images);
      const Tensor<1, Int> labels =
          batch.targets.mask_fill(rand({run.batch}, device).lt(run.untold), model.any_class());
      const Tensor<1, Int> steps = randint({run.batch}, 0, run.model.steps, device);
      const Tensor<4> noise = randn_like(images);
      auto [loss, grads] =
          value_and_grad(model, [&](const Denoiser& m) { return m.loss(images, steps, labels, noise); });
      model = adam.step(schedule.next(), std::move(model), grads);
      average.update(model);
      total += loss.item<double>();
    }
    print("epoch {}: mean square error of the noise {:.4f}\n", epoch, total / static_cast<double>(loader.size()));
    std::fflush(stdout);
  }
  return average.apply(std::move(model));
}

void learn_and_draw(const Run& run) {
  (void)FileReplacement(run.picture);  // throws now, not after the training, where no file can be written
  const auto digits = [&](std::int64_t count, std::uint64_t seed) {
    return cached(Digits({.count = count, .seed = seed, .side = run.side}));
  };
  const DatasetPtr<Image> train = digits(run.digits, 2 * run.seed), test = digits(2000, 2 * run.seed + 1);
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  const guide::Model reader = trained_reader(train, device);
  const Denoiser model = learn(run, train, device);

  const NoGrad pause;
  const Tensor<1, Int> labels = arange(100, device).floor_divide(10);
  const Tensor<4> noise = randn({100, 1, run.side, run.side}, device);
  std::vector<Image> drawn = to_images(from_model(denoised(model, noise, labels, run.draw)));
  const std::vector<std::int64_t> told = labels.to_vector();
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i].label = told[i];
  write_png(grid_of(drawn, 10, 4), run.picture);
  print("drawn: {}\n", run.picture);

  print("a classifier reads {:.1f} % of them as told, and {:.1f} % of the test images\n",
        accuracy(reader, in_memory(std::move(drawn)), device), accuracy(reader, test, device));
}

const Help kHelp{
    R"(A diffusion model learns to draw the digit that it is told; how many of them a classifier that learned from the same
images reads as that, and a picture: a row for each digit.

  diffusion [--side N] [--epochs N] [--draw.guidance X] [--picture FILE.png] ...)",
    {{"digits", "digits that are drawn to learn from"},
     {"side", "pixels of a side of the digits"},
     {"model", "sizes of the network"},
     {"epochs", "how often training goes through the data"},
     {"batch", "items in a step"},
     {"rate", "the learning rate, at its highest"},
     {"untold", "the share of images whose class the model is not told"},
     {"draw", "how digits are drawn after training: steps, and how strongly the class guides"},
     {"seed", "decides initial weights, order and noise"},
     {"picture", "the file that the picture is written to"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn_and_draw, kHelp); }
