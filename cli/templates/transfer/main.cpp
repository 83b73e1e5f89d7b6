// Teaches a published network to tell other pictures apart: its last layer is new, the others stay as they are.
#include <memory>
#include <optional>
#include <string>

#include <kiln/config.hpp>
#include <kiln/data.hpp>
#include <kiln/kiln.hpp>
#include <kiln/train.hpp>

#include "model.hpp"
#include "rehearsal.hpp"

namespace {

using namespace kiln;

struct Run {
  std::optional<std::string> data;     // a folder with a folder of PNG or JPEG files for each class
  std::optional<std::string> weights;  // torchvision's file of a ResNet: resnet18-f37072fd.pth
  std::optional<std::string> read;     // learns nothing, and says what is on this picture
  std::string out = "model.safetensors";
  bool plain = false;  // lines in place of the dashboard
  int depth = 18;      // of the ResNet in the file of weights: 18, 34 or 50
  std::int64_t side = 224, epochs = 10, batch = 32;
  std::int64_t digits = 1000;  // that are drawn without --data
  int workers = 2;
  double rate = 0.01;
  std::uint64_t seed = 1;
};

/// The file beside the model's, with what init() needs to know.
std::string config_file(const std::string& out) { return out + ".json"; }

struct Start {
  ModelConfig config;
  Model model;
  DatasetPtr<LabelledPicture> pictures;
};

Start begin(const Run& run, const Device& device) {
  require<ArgumentError>(run.data.has_value() == run.weights.has_value(),
                         "--data and --weights belong together: the pictures, and the network to begin with; README.md "
                         "says where there are weights");
  if (!run.data) {
    print(
        "no --data, no --weights: learns to read the digits 0 to 4, which it draws, then only the head learns 5 to "
        "9\n");
    const ModelConfig config{.width = 16, .side = 32, .classes = 5};
    models::ResNet network = rehearsal::learned(config.network(device), config.side, run.digits, run.seed, device);
    return {config, begin_with(std::move(network), rehearsal::classes(5), device),
            rehearsal::draw(run.digits, 5, config.side, run.seed + 1)};
  }
  require<ArgumentError>(run.side >= 32 && run.side <= 1024, "--side ", run.side, " must be 32 to 1024");
  const auto folder = std::make_shared<const PictureFolder>(*run.data);
  print("{}", folder->left_out());
  const ModelConfig config{.depth = run.depth, .side = run.side, .classes = std::ssize(folder->classes())};
  models::ResNet network = config.network(device);
  load_torchvision(network, *run.weights, {.except = "head.*"});
  return {config, begin_with(std::move(network), folder->classes(), device), folder};
}

void learn(const Run& run, const Device& device) {
  const auto [config, model, pictures] = begin(run, device);
  require<DataError>(pictures->size() >= 10, "there are ", pictures->size(), " pictures: at least 10 are needed");
  const std::int64_t held_out = pictures->size() / 5, side = config.side, larger = side + side / 8;
  const auto [known, unseen] = split(pictures, {pictures->size() - held_out, held_out}, run.seed);
  const auto vary = [=](const Picture& picture, Random& random) {
    return random_crop(resized(picture, larger, larger), side, side, random);
  };
  const auto same = [=](const Picture& picture, Random&) { return resized(picture, side, side); };
  const PictureBatcher batcher = PictureBatcher::image_net();
  DataLoader loader(known, augmenting(vary, batcher),
                    {.batch_size = run.batch, .shuffle = true, .seed = run.seed, .workers = run.workers});
  DataLoader valid_loader(unseen, augmenting(same, batcher), {.batch_size = 64, .workers = run.workers});

  const auto step = [device](const Model& m, PictureBatch batch) -> ClassificationOutput {
    const auto images = Tensor<4>::from_data(std::move(batch.images), device);
    const auto targets = Tensor<1, Int>::from_data(std::move(batch.targets), device);
    const Tensor<2> scores = m.forward(images);
    return {cross_entropy(scores, targets), scores, targets};
  };
  Learner learner(model, AdamWConfig{}.init(model), step, {.epochs = run.epochs, .seed = run.seed});
  learner.schedule(CosineConfig{.peak = run.rate, .steps = run.epochs * loader.size()});
  learner.metric(metric::Accuracy{});
  watch(learner, {.plain = run.plain});
  learner.fit(loader, valid_loader);

  save(learner.result(), run.out);
  save_config(config, config_file(run.out));
  print("wrote {} and {}\n", run.out, config_file(run.out));
}

void read(const Run& run, const Device& device) {
  const auto config = load_config<ModelConfig>(config_file(run.out));
  const Model model = valid(load(run.out, config.init(device)));
  const LabelledPicture picture{resized(read_picture(*run.read), config.side, config.side)};
  const auto images = Tensor<4>::from_data(PictureBatcher::image_net()({&picture, 1}).images, device);
  const Tensor<2> chances = model.forward(images).softmax(1);  // [1, classes]
  print("{}: {} ({:.0f} %)\n", *run.read, model.classes.decode(chances.argmax(1))[0], 100 * chances.max().item());
}

void start(const Run& run) {
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  if (run.read) read(run, device);
  else learn(run, device);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, start); }
