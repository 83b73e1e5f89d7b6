// YOLOX learns where things are on pictures, and what they are. It says COCO's mean average precision of pictures that
// were held out, and draws what it finds on them.
//
//   object_detection [--data FOLDER] [--annotations instances.json] [--model nano [--weights yolox_nano.pth]]
//                    [--run DIRECTORY] [--plain] [--web PORT] ...; --help lists all
//
// The folder holds pictures, and a file that says what is on them, in the form of COCO's instances.json. Without --data,
// discs, squares and triangles are drawn into such a folder, "shapes-400-96", which is used again. --weights begins with
// published weights, apart from those of the classes.
#include <optional>
#include <string>

#include "examples/coco/learning.hpp"
#include "examples/object_detection/boxes.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "models/detection/learning.hpp"

namespace {

using namespace kiln;
using models::BoxedBatch;
using models::Yolox;

struct Run {
  std::optional<std::string> data;  // a folder of pictures
  std::string annotations = "instances.json";
  std::optional<std::string> model;  // nano, tiny, s, m, l or x; without, a smaller one, as `network` says
  models::YoloxConfig network = {.classes = 0, .width = 0.25, .momentum = 0.1};  // classes: those of the data
  std::optional<std::string> weights;                                            // to begin with
  std::optional<std::string> run;  // a directory for logs and checkpoints, in which a training that was stopped goes on
  bool plain = false;              // lines in place of the dashboard
  std::optional<std::uint16_t> web;  // a port: the dashboard as a page for a browser; 0: any port that is free
  std::int64_t pictures = 400;       // that are drawn without --data
  std::int64_t side = 96;            // pixels of the square that pictures are brought to
  std::int64_t epochs = 10, batch = 8;
  int workers = 1;
  double rate = 3e-3;
  std::uint64_t seed = 1;
  std::string picture = "object_detection.png";

  void check() const {
    require<ArgumentError>(side >= 32 && side <= 2048 && side % 32 == 0, "--side ", side,
                           " must be a multiple of 32, up to 2048");
  }
};

Yolox begin(const Run& run, std::int64_t classes, const Device& device) {
  models::YoloxConfig config = run.model ? models::yolox(*run.model) : run.network;
  config.classes = classes;
  Yolox model = config.init(device);
  if (run.weights) models::load_yolox(model, *run.weights, {.except = "heads.*.classes.*"});
  return train(std::move(model));
}

void learn(const Run& run) {
  (void)FileReplacement(run.picture);  // throws now, not after the training, where no file can be written
  auto loaders = boxes::load(coco::folder_of(run), coco::pictures_of(run));
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  Yolox model = begin(run, std::ssize(loaders.classes), device);
  const models::DetectionStep how{.loss = {.distance_weight = 1}};
  const models::DetectionStep looking{.loss = how.loss, .looks = true};
  const auto step = [=](const Yolox& m, BoxedBatch batch) { return models::detection_step(m, batch, device, how); };
  const auto look = [=](const Yolox& m, BoxedBatch batch) { return models::detection_step(m, batch, device, looking); };

  AdamW optimizer = AdamWConfig{.weight_decay = 0.05}.init(model);
  Learner learner(std::move(model), std::move(optimizer), step, {.epochs = run.epochs, .seed = run.seed});
  learner.valid_step(look).valid_metric(models::DetectionPrecision{}).train_metric(metric::ItemsPerSecond{});
  coco::fit(learner, run, loaders, "map");

  Evaluator evaluator(learner.result(), look);
  const auto found = evaluator.metric(models::DetectionPrecision{}).measure("held out", loaders.valid);
  print("mean average precision {:.4f} on {} pictures that were held out\n", found.find("map")->value,
        loaders.held_out->size());
  boxes::draw_found(learner.result(), loaders, run.side, run.picture);
}

const Help kHelp{
    R"(YOLOX learns where things are on pictures, and what they are. It says COCO's mean average precision of pictures that
were held out, and draws what it finds on them.

  object_detection [--data FOLDER] [--annotations instances.json] [--model nano [--weights yolox_nano.pth]]
                   [--run DIRECTORY] [--plain] [--web PORT] ...

The folder holds pictures, and a file that says what is on them, in the form of COCO's instances.json. Without --data,
discs, squares and triangles are drawn into such a folder, "shapes-400-96", which is used again. --weights begins with
published weights, apart from those of the classes.)",
    {{"data", "a folder of pictures"},
     {"annotations", "the file in the data folder that says what is on the pictures"},
     {"model", "nano, tiny, s, m, l or x; without, a smaller one, as `network` says"},
     {"network", "sizes of the network where no --model is given"},
     {"weights", "published weights to begin with"},
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
