// A small ResNet learns the classes of pictures that lie in folders, one for each class: photos/cat/1.jpg, photos/dog/2.png.
//
//   image_folder [--data photos] [--run DIRECTORY] [--plain] [--web PORT] [--side N] [--workers N] ...; --help lists all
//
// Without --data it draws digits and puts them into such a folder, "digits-2000", which is used again.
#include <filesystem>
#include <optional>
#include <string>

#include "examples/image_folder/pictures.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train.hpp"
#include "models/resnet.hpp"

namespace {

using namespace kiln;

struct Run {
  std::optional<std::string> data;  // a folder of folders of PNG and JPEG files
  std::optional<std::string> run;  // a directory for logs and checkpoints, in which a training that was stopped goes on
  bool plain = false;              // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  std::int64_t side = 32;            // pixels that pictures are brought to
  bool mirror = false;               // pictures mean the same when left becomes right
  std::int64_t digits = 2000;        // that are drawn without --data
  std::int64_t width = 16;           // of the network
  std::int64_t epochs = 5, batch = 32;
  int workers = 2;
  double rate = 3e-3;
  std::uint64_t seed = 1;
};

/// What decides the weights. How far to go, and who looks on, may change where a training goes on.
Json kept(Run run) {
  run.run.reset();
  run.plain = false;
  run.web.reset();
  run.epochs = 0;
  run.workers = 0;
  return to_json(run);
}

void learn(const Run& run) {
  require<ArgumentError>(run.side >= 8 && run.side <= 1024, "--side ", run.side, " must be 8 to 1024");
  auto [classes, held_out, train_loader, valid_loader] =
      pictures::load(run.data ? *run.data : pictures::draw_digits(run.digits),
                     {run.side, run.mirror, run.batch, run.workers, run.seed});

  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  using models::ResNet;
  ResNet model = train(models::ResNetConfig{.blocks = {1, 1, 1}, .classes = classes, .width = run.width}.init(device));
  const auto step = [device](const ResNet& m, PictureBatch batch) -> ClassificationOutput {
    const auto images = Tensor<4>::from_data(std::move(batch.images), device);
    const auto targets = Tensor<1, Int>::from_data(std::move(batch.targets), device);
    const Tensor<2> scores = m.forward(images);
    return {cross_entropy(scores, targets), scores, targets};
  };
  AdamW optimizer = AdamWConfig{.weight_decay = 0.05}.init(model);
  Learner learner(std::move(model), std::move(optimizer), step, {.epochs = run.epochs, .seed = run.seed});
  const std::int64_t steps = run.epochs * train_loader.size(), warmup = std::min<std::int64_t>(20, steps / 10);
  learner.schedule(CosineConfig{.peak = run.rate, .warmup = warmup, .steps = steps});
  learner.metric(metric::Accuracy{}).train_metric(metric::ItemsPerSecond{});
  watch(learner, {run.plain, run.web});
  if (run.run) {
    const std::filesystem::path directory = *run.run;
    learner.add(RunDirectory(directory, to_json(run)));
    learner.checkpoints(directory / "checkpoint",
                        {.last = 1, .best = 1, .metric = "accuracy", .rising = true, .exact = false}, true,
                        kept(run));  // not exact: with other epochs the rate falls otherwise
  }
  learner.fit(train_loader, valid_loader);

  Evaluator evaluator(learner.result(), step);
  const auto found = evaluator.metric(metric::Accuracy{}).measure("held out", valid_loader);
  print("right about {:.1f} % of {} pictures that were held out\n", 100 * found.find("accuracy")->value, held_out);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
