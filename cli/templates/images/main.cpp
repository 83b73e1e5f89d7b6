// Learns to tell pictures apart: a folder of them for each class, or digits that the program draws itself.
#include <optional>
#include <string>

#include <kiln/config.hpp>
#include <kiln/data.hpp>
#include <kiln/kiln.hpp>
#include <kiln/train.hpp>

#include "model.hpp"

namespace {

using namespace kiln;

struct Run {
  std::optional<std::string> data;  // a folder with a folder of PNG or JPEG files for each class
  std::string out = "model.safetensors";
  bool plain = false;                     // lines in place of the dashboard
  std::int64_t side = 32, digits = 2000;  // pixels of a side; digits that are drawn without --data
  std::int64_t epochs = 5, batch = 32;
  int workers = 2;
  double rate = 3e-3;
  std::uint64_t seed = 1;
};

/// A grey image as the picture that a file of it would be.
LabelledPicture to_picture(const Image& image) {
  Picture picture = blank(image.height, image.width, 3);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    for (std::size_t channel = 0; channel < 3; ++channel) picture.pixels[3 * i + channel] = byte_of(image.pixels[i]);
  return {std::move(picture), image.label};
}

struct Source {
  DatasetPtr<LabelledPicture> pictures;
  std::int64_t classes;
};

Source read_pictures(const Run& run) {
  if (run.data) {
    const auto folder = std::make_shared<const PictureFolder>(*run.data);
    print("{}", folder->left_out());
    return {folder, static_cast<std::int64_t>(folder->classes().size())};
  }
  print("no --data: draws {} digits\n", run.digits);
  return {mapped(std::make_shared<const Digits>(DigitsConfig{.count = run.digits, .seed = run.seed}), to_picture), 10};
}

void learn(const Run& run) {
  require<ArgumentError>(run.side >= 8 && run.side <= 1024, "--side ", run.side, " must be 8 to 1024");
  const auto [pictures, classes] = read_pictures(run);
  require<DataError>(pictures->size() >= 10, "there are ", pictures->size(), " pictures: at least 10 are needed");
  const std::int64_t held_out = pictures->size() / 5, side = run.side, larger = side + side / 8;
  const auto [known, unseen] = split(pictures, {pictures->size() - held_out, held_out}, run.seed);
  const auto vary = [=](const Picture& picture, Random& random) {
    return random_crop(resized(picture, larger, larger), side, side, random);
  };
  const auto same = [=](const Picture& picture, Random&) { return resized(picture, side, side); };
  const PictureBatcher batcher = PictureBatcher::image_net();
  DataLoader loader(known, augmenting(vary, batcher),
                    {.batch_size = run.batch, .shuffle = true, .seed = run.seed, .workers = run.workers});
  DataLoader valid_loader(unseen, augmenting(same, batcher), {.batch_size = 64, .workers = run.workers});

  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  const Model model = ModelConfig{.classes = classes}.init(device);
  const auto step = [device](const Model& m, PictureBatch batch) -> ClassificationOutput {
    const auto images = Tensor<4>::from_data(std::move(batch.images), device);
    const auto targets = Tensor<1, Int>::from_data(std::move(batch.targets), device);
    const Tensor<2> scores = m.forward(images);
    return {cross_entropy(scores, targets), scores, targets};
  };
  Learner learner(train(model), AdamWConfig{}.init(model), step, {.epochs = run.epochs, .seed = run.seed});
  learner.schedule(CosineConfig{.peak = run.rate, .steps = run.epochs * loader.size()});
  learner.metric(metric::Accuracy{}).train_metric(metric::ItemsPerSecond{});
  watch(learner, {.plain = run.plain});
  learner.fit(loader, valid_loader);

  save(learner.result(), run.out);
  print("wrote {}\n", run.out);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
