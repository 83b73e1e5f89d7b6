// A U-Net learns which pixels of pictures belong to what: it says how well its regions and the true ones overlap on
// pictures that were held out, and draws some, the truth, and what it sees.
//
//   segment [--data FOLDER] [--annotations instances.json] [--model.width N] [--run DIRECTORY] [--plain] [--web PORT] ...
//
// The folder holds pictures, and a file with the outlines of what is on them, in the form of COCO's instances.json.
// Without --data, discs, squares and triangles are drawn into such a folder, "shapes-400-64", which is used again.
#include <optional>
#include <string>

#include "examples/coco/learning.hpp"
#include "examples/segment/masks.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "models/segmentation.hpp"

namespace {

using namespace kiln;
using models::UNet;

struct Run {
  std::optional<std::string> data;  // a folder of pictures
  std::string annotations = "instances.json";
  models::UNetConfig model = {.channels = 3, .classes = 0, .width = 8, .depth = 3};  // classes: those of the data
  std::optional<std::string> run;  // a directory for logs and checkpoints, in which a training that was stopped goes on
  bool plain = false;              // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  std::int64_t pictures = 400;       // that are drawn without --data
  std::int64_t side = 64;            // pixels of the square that pictures are brought to
  std::int64_t epochs = 15, batch = 8;
  int workers = 1;
  double rate = 3e-3;
  std::uint64_t seed = 1;
  std::string picture = "segment.png";

  void check() const {
    const std::int64_t step = std::int64_t{1} << std::clamp<std::int64_t>(model.depth, 0, 10);
    require<ArgumentError>(side > 0 && side <= 2048 && side % step == 0, "--side ", side, " must be a multiple of ",
                           step, ", up to 2048");
  }
};

struct Segmented {
  Tensor<0> loss;
  Tensor<4> scores;        // [batch, classes, height, width]
  Tensor<3, Int> targets;  // [batch, height, width]
  std::int64_t items() const { return targets.dim(0); }
};

void learn(Run run) {
  (void)FileReplacement(run.picture);  // throws now, not after the training, where no file can be written
  auto loaders = masks::load(coco::folder_of(run), coco::pictures_of(run));
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  run.model.classes = std::ssize(loaders.classes);
  UNet model = train(run.model.init(device));
  const auto step = [device](const UNet& m, MaskedBatch batch) -> Segmented {
    const auto images = Tensor<4>::from_data(std::move(batch.images), device);
    const auto classes = Tensor<3, Int>::from_data(std::move(batch.classes), device);
    const Tensor<4> scores = m.forward(images);
    return {models::SegmentationLoss{}.forward(scores, classes), scores, classes};
  };
  AdamW optimizer = AdamWConfig{}.init(model);
  Learner learner(std::move(model), std::move(optimizer), step, {.epochs = run.epochs, .seed = run.seed});
  const metric::Iou overlap{.options = {.ignore = CocoMasks::kCrowd}};
  learner.valid_metric(overlap).train_metric(metric::ItemsPerSecond{});
  coco::fit(learner, run, loaders, "iou");

  Evaluator evaluator(learner.result(), step);
  const auto found = evaluator.metric(overlap).measure("held out", loaders.valid);
  print("mean overlap with the truth {:.4f} on {} pictures that were held out\n", found.find("iou")->value,
        loaders.held_out->size());
  masks::draw_seen(learner.result(), loaders, run.side, run.picture);
}

const Help kHelp{
    R"(A U-Net learns which pixels of pictures belong to what: it says how well its regions and the true ones overlap on
pictures that were held out, and draws some, the truth, and what it sees.

  segment [--data FOLDER] [--annotations instances.json] [--model.width N] [--run DIRECTORY] [--plain] [--web PORT] ...

The folder holds pictures, and a file with the outlines of what is on them, in the form of COCO's instances.json.
Without --data, discs, squares and triangles are drawn into such a folder, "shapes-400-64", which is used again.)",
    {{"data", "a folder of pictures"},
     {"annotations", "the file in the data folder that says what is on the pictures"},
     {"model", "sizes of the network"},
     {"run", "a directory for logs and checkpoints, in which a training that was stopped goes on"},
     {"plain", "lines in place of the dashboard"},
     {"web", "a port: the dashboard as a page for a browser; 0: any port that is free"},
     {"pictures", "how many pictures are drawn without --data"},
     {"side", "pixels of the square that pictures are brought to"},
     {"epochs", "how often training goes through the data"},
     {"batch", "items in a step"},
     {"workers", "threads that prepare batches"},
     {"rate", "the learning rate, at its highest"},
     {"seed", "decides initial weights, order and noise"},
     {"picture", "the file that the picture is written to"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
