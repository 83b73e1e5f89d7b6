// A small ResNet, MobileNetV2, VGG or vision transformer learns digits; its accuracy on those that it never saw.
//
//   classify [--model resnet|mobilenet|vgg|transformer] [--data mnist] [--epochs N] ...; --help lists all
#include <algorithm>
#include <cstdio>

#include "examples/guide/source.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/kiln.hpp"
#include "models/mobilenet_v2.hpp"
#include "models/resnet.hpp"
#include "models/vgg.hpp"
#include "models/vision_transformer.hpp"

namespace {

using namespace kiln;

/// For images of 28 x 28.
models::ResNetConfig small_resnet() { return {.blocks = {2, 2, 2}, .classes = 10, .channels = 1, .width = 16}; }
models::MobileNetV2Config small_mobilenet() {
  return {.stages = {{1, 16, 1, 1}, {4, 24, 2, 2}, {4, 40, 2, 2}}, .classes = 10, .channels = 1, .dropout = 0.1};
}
models::VggConfig small_vgg() {
  return {
      .features = {.convolutions = {1, 2, 2}, .width = 16, .channels = 1}, .hidden = 64, .classes = 10, .dropout = 0.2};
}
models::VisionTransformerConfig small_transformer() {
  return {.image = 28, .patch = 4, .channels = 1, .width = 64, .layers = 4, .heads = 4, .hidden = 128, .classes = 10};
}

enum class Network { resnet, mobilenet, vgg, transformer };

struct Run {
  Network model = Network::resnet;
  std::string data = "digits";  // or mnist, or a directory with MNIST's files
  std::int64_t epochs = 1, batch = 64;
  double rate = 2e-3;
  std::uint64_t seed = 1;
};

template <class Model>
double accuracy(const Model& trained, const DatasetPtr<Image>& test, const Device& device) {
  const NoGrad pause;
  const Model model = valid(trained);
  std::int64_t right = 0;
  for (ImageBatch& host : DataLoader(test, ImageBatcher::normalized(), {.batch_size = 250, .workers = 1})) {
    const auto [images, targets] = to_tensors(std::move(host), device);
    right += model.forward(images.unsqueeze(1)).argmax(1).eq(targets).to_int().sum().item();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(test->size());
}

template <class Config>
void learn(const Config& config, const Run& run) {
  const guide::Source source = guide::open_source(run.data);
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  auto model = config.init(device);
  using Model = decltype(model);
  AdamW adam = AdamWConfig{.weight_decay = 0.05}.init(model);
  DataLoader loader(source.train, ImageBatcher::normalized(),
                    {.batch_size = run.batch, .shuffle = true, .seed = run.seed, .workers = 1, .drop_last = true});
  const std::int64_t steps = run.epochs * loader.size();
  auto schedule =
      CosineConfig{.peak = run.rate, .warmup = std::min<std::int64_t>(100, steps / 10), .steps = steps}.init();
  print("{} parameters\n", num_params(model));
  for (std::int64_t epoch = 1; epoch <= run.epochs; ++epoch) {
    double total = 0;
    for (ImageBatch& host : loader) {
      const auto batch = to_tensors(std::move(host), device);
      auto [loss, grads] = value_and_grad(
          model, [&](const Model& m) { return cross_entropy(m.forward(batch.images.unsqueeze(1)), batch.targets); });
      model = adam.step(schedule.next(), std::move(model), grads);
      total += loss.template item<double>();
    }
    print("epoch {}: cross entropy {:.4f}, test accuracy {:.2f} %\n", epoch, total / static_cast<double>(loader.size()),
          accuracy(model, source.test, device));
    std::fflush(stdout);
  }
}

void learn_with_any(const Run& run) {
  switch (run.model) {
    case Network::resnet: return learn(small_resnet(), run);
    case Network::mobilenet: return learn(small_mobilenet(), run);
    case Network::vgg: return learn(small_vgg(), run);
    case Network::transformer: return learn(small_transformer(), run);
  }
}

const Help kHelp{
    R"(A small ResNet, MobileNetV2, VGG or vision transformer learns digits; its accuracy on those that it never saw.

  classify [--model resnet|mobilenet|vgg|transformer] [--data mnist] [--epochs N] ...)",
    {{"model", "the network that learns"},
     {"data", "digits (drawn by Kiln), mnist (downloaded), or a directory with MNIST's files"},
     {"epochs", "how often training goes through the data"},
     {"batch", "items in a step"},
     {"rate", "the learning rate, at its highest"},
     {"seed", "decides initial weights, order and noise"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn_with_any, kHelp); }
