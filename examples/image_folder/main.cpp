// A small ResNet learns the classes of pictures that lie in folders, one for each class: photos/cat/1.jpg, photos/dog/2.png.
//
//   image_folder [--data photos] [--run DIRECTORY] [--plain] [--web PORT] [--side N] [--workers N] ...; --help lists all
//
// Without --data it draws digits and puts them into such a folder, "digits", which is used again.
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/data/picture/augment.hpp"
#include "kiln/data/picture/folder.hpp"
#include "kiln/data/picture/geometry.hpp"
#include "kiln/data/png.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train/train.hpp"
#include "models/resnet.hpp"

namespace {

using namespace kiln;
namespace fs = std::filesystem;

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

/// Puts digits into folders by their names, unless they lie there.
std::string draw_digits(std::int64_t count) {
  const fs::path folder = "digits", last = folder / text("drawn-", count);
  if (fs::exists(last)) return folder.string();
  fs::remove_all(folder);
  const Digits digits({.count = count, .seed = 1});
  for (std::int64_t i = 0; i < count; ++i) {
    const Image image = digits.get(i);
    const fs::path of_class = folder / text(image.label);
    fs::create_directories(of_class);
    write_png(image, (of_class / text(i, ".png")).string());
  }
  write_file_atomically(last.string(), std::string_view());
  return folder.string();
}

void learn(const Run& run) {
  require<ArgumentError>(run.side >= 8 && run.side <= 1024, "--side ", run.side, " must be 8 to 1024");
  const auto folder = std::make_shared<const PictureFolder>(run.data ? *run.data : draw_digits(run.digits));
  require<DataError>(folder->size() >= 10, "there are too few pictures: ", folder->size());
  const std::int64_t held_out = folder->size() / 5;
  const auto [known, unseen] = split(folder, {folder->size() - held_out, held_out}, run.seed);
  const auto classes = static_cast<std::int64_t>(folder->classes().size());
  print("{} pictures of {} classes\n", folder->size(), classes);

  // What is learned from is cut and mirrored at random, anew in each epoch; what is held out is not.
  const std::int64_t side = run.side, larger = side + side / 8;
  const auto vary = [=, mirror = run.mirror](const Picture& picture, Random& random) {
    const Picture cut = random_crop(resized(picture, larger, larger), side, side, random);
    return mirror ? randomly_mirrored(cut, random) : cut;
  };
  const auto same = [side](const Picture& picture, Random&) { return resized(picture, side, side); };
  const PictureBatcher batcher = PictureBatcher::image_net();
  DataLoader train_loader(known, augmenting(vary, batcher),
                          {.batch_size = run.batch,
                           .shuffle = true,
                           .seed = run.seed,
                           .workers = run.workers,
                           .drop_last = known->size() >= run.batch});
  DataLoader valid_loader(unseen, augmenting(same, batcher), {.batch_size = 64, .workers = run.workers});

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
  learner.schedule(CosineConfig{.peak = run.rate, .warmup = 20, .steps = run.epochs * train_loader.size()});
  learner.metric(metric::Accuracy{}).train_metric(metric::ItemsPerSecond{});
  watch(learner, {run.plain, run.web});
  if (run.run) {
    const fs::path directory = *run.run;
    learner.add(RunDirectory(directory, to_json(run)));
    learner.checkpoints(directory / "checkpoint", {.last = 1, .best = 1, .metric = "accuracy", .rising = true}, true,
                        to_json(run));
  }
  learner.fit(train_loader, valid_loader);

  Evaluator evaluator(learner.result(), step);
  const auto found = evaluator.metric(metric::Accuracy{}).measure("held out", valid_loader);
  print("right about {:.1f} % of {} pictures that were held out\n", 100 * found.find("accuracy")->value, held_out);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
