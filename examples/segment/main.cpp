// A U-Net learns which pixels of noisy pictures belong to discs, and which to triangles; how well its regions and the
// true ones overlap, and a picture: scenes, truth and what it sees.
//
//   segment [--epochs N] [--model.width N] [--picture FILE.png] ...; --help lists all
#include <algorithm>
#include <cstdio>

#include "examples/segment/scene.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/png.hpp"
#include "kiln/kiln.hpp"
#include "models/unet.hpp"

namespace {

using namespace kiln;
using models::UNet;
using segment::Scenes;

struct Run {
  models::UNetConfig model = {.classes = segment::kClasses, .width = 8, .depth = 3};
  std::int64_t scenes = 1600, side = 64;
  std::int64_t epochs = 8, batch = 8;
  double rate = 3e-3;
  std::uint64_t seed = 1;
  std::string picture = "segment.png";

  void check() const {
    require<ArgumentError>(batch > 0 && batch <= scenes, "batches of ", batch, " cannot be made of ", scenes,
                           " scenes");
  }
};

Tensor<3, Int> segmented(const UNet& model, const Tensor<4>& images) {
  const NoGrad pause;
  return valid(model).forward(images).argmax(1);
}

/// The mean over the classes of how many pixels are of a class in both, by how many in either.
double mean_overlap(const Tensor<3, Int>& found, const Tensor<3, Int>& right) {
  double total = 0;
  for (std::int64_t kind = 0; kind < segment::kClasses; ++kind) {
    const auto a = found.eq(kind), b = right.eq(kind);
    const double both = a.logical_and(b).to_int().sum().item<double>();
    total += both / a.logical_or(b).to_int().sum().item<double>();
  }
  return total / segment::kClasses;
}

/// Rows of eight: scenes, the true classes, and those that were found.
void draw(const Scenes& scenes, const Tensor<3, Int>& found, const std::string& path) {
  const auto first = [](const auto& x) { return x.narrow(0, 0, 8); };
  const double shade = 1.0 / (segment::kClasses - 1);
  const Tensor<3> rows =
      cat({first(scenes.images).squeeze(1), first(scenes.classes).to_float() * shade, first(found).to_float() * shade});
  write_png(grid_of(to_images(rows), 8, 2), path);
}

void learn(const Run& run) {
  (void)FileReplacement(run.picture);  // throws now, not after the training, where no file can be written
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  const Scenes train = segment::scenes(run.scenes, run.side, run.seed, device);
  const Scenes test = segment::scenes(200, run.side, run.seed + 1, device);
  UNet model = run.model.init(device);
  AdamW adam = AdamWConfig{}.init(model);
  const std::int64_t steps = run.scenes / run.batch;
  const std::int64_t all_steps = run.epochs * steps, warmup = std::min<std::int64_t>(20, all_steps / 10);
  auto schedule = CosineConfig{.peak = run.rate, .warmup = warmup, .steps = all_steps}.init();
  for (std::int64_t epoch = 1; epoch <= run.epochs; ++epoch) {
    const Tensor<1, Int> order = randperm(run.scenes, device);
    double total = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const Tensor<1, Int> places = order.narrow(0, step * run.batch, run.batch);
      const Tensor<4> images = train.images.select(0, places);
      const Tensor<3, Int> classes = train.classes.select(0, places);
      auto [loss, grads] =
          value_and_grad(model, [&](const UNet& m) { return cross_entropy(m.forward(images), classes); });
      model = adam.step(schedule.next(), std::move(model), grads);
      total += loss.item<double>();
    }
    print("epoch {}: cross entropy {:.4f}, mean overlap with the truth of new scenes {:.4f}\n", epoch,
          total / static_cast<double>(steps), mean_overlap(segmented(model, test.images), test.classes));
    std::fflush(stdout);
  }
  draw(test, segmented(model, test.images), run.picture);
  print("drawn: {}\n", run.picture);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
