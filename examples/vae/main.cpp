// A variational autoencoder learns digits; the bound of images that it never saw, and a picture: some of them, what it
// makes of them, and digits of its own.
//
//   vae [--data mnist] [--epochs N] [--model.latent N] [--picture FILE.png] ...; --help lists all
#include <cstdio>

#include "examples/guide/source.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/data/png.hpp"
#include "kiln/kiln.hpp"
#include "models/vae.hpp"

namespace {

using namespace kiln;
using models::Vae;

struct Run {
  std::string data = "digits";  // or mnist, or a directory with MNIST's files
  models::VaeConfig model = {};
  std::int64_t epochs = 12, batch = 128;
  double rate = 2e-3;
  std::uint64_t seed = 1;
  std::string picture = "vae.png";
};

double test_bound(const Vae& model, const DatasetPtr<Image>& test, const Device& device) {
  const NoGrad pause;
  double nats = 0;
  for (ImageBatch& batch : DataLoader(test, ImageBatcher{}, {.batch_size = 500, .workers = 1})) {
    const auto images = to_tensors(std::move(batch), device).images;
    nats += model.bound(images, randn({images.dim(0), model.latent()}, device, Key{1})).sum().item<double>();
  }
  return nats / static_cast<double>(test->size());
}

/// Rows of twenty: images, what the model makes of them, and of nothing but noise.
void draw(const Vae& model, const DatasetPtr<Image>& test, const Device& device, const std::string& path) {
  std::vector<Image> rows;
  for (std::int64_t i = 0; i < 20; ++i) rows.push_back(test->get(i));
  const auto images = to_tensors(ImageBatcher{}(rows), device).images;
  const Tensor<2> latent = cat({model.encode(images).mean, randn({60, model.latent()}, device, Key{2})}, 0);
  for (Image& image : to_images(model.decode(latent).sigmoid())) rows.push_back(std::move(image));
  write_png(grid_of(rows, 20, 2), path);
}

void learn(const Run& run) {
  (void)FileReplacement(run.picture);  // throws now, not after the training, where no file can be written
  const guide::Source source = guide::open_source(run.data);
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  Vae model = run.model.init(device);
  Adam adam = AdamConfig{}.init(model);
  DataLoader loader(source.train, ImageBatcher{},
                    {.batch_size = run.batch, .shuffle = true, .seed = run.seed, .workers = 1});
  const CosineConfig rates{.peak = run.rate, .steps = run.epochs * loader.size(), .floor = run.rate / 20};
  auto schedule = rates.init();
  for (std::int64_t epoch = 1; epoch <= run.epochs; ++epoch) {
    for (ImageBatch& batch : loader) {
      const auto images = to_tensors(std::move(batch), device).images;
      const Tensor<2> noise = randn({images.dim(0), model.latent()}, device);
      auto [loss, grads] = value_and_grad(model, [&](const Vae& m) { return m.bound(images, noise).mean(); });
      model = adam.step(schedule.next(), std::move(model), grads);
    }
    print("epoch {}: {:.2f} nats for a test image\n", epoch, test_bound(model, source.test, device));
    std::fflush(stdout);
  }
  draw(model, source.test, device, run.picture);
  print("drawn: {}\n", run.picture);
}

const Help kHelp{
    R"(A variational autoencoder learns digits; the bound of images that it never saw, and a picture: some of them, what it
makes of them, and digits of its own.

  vae [--data mnist] [--epochs N] [--model.latent N] [--picture FILE.png] ...)",
    {{"data", "digits (drawn by Kiln), mnist (downloaded), or a directory with MNIST's files"},
     {"model", "sizes of the network"},
     {"epochs", "how often training goes through the data"},
     {"batch", "items in a step"},
     {"rate", "the learning rate, at its highest"},
     {"seed", "decides initial weights, order and noise"},
     {"picture", "the file that the picture is written to"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn, kHelp); }
