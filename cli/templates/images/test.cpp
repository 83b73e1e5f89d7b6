// The network learns ten drawn digits by heart. Prints what is wrong and returns 1.
#include <kiln/data.hpp>

#include "model.hpp"

using namespace kiln;

int main() {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  const Digits digits({.count = 10, .seed = 1});
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < digits.size(); ++i) {
    const Image image = digits.get(i);
    for (int channel = 0; channel < 3; ++channel) pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
    labels.push_back(image.label);
  }
  const auto images = Tensor<4>::of(pixels, {10, 3, 28, 28}, device);
  const auto targets = Tensor<1, Int>::of(labels, device);

  Model model = ModelConfig{.classes = 10}.init(device);
  Adam adam = AdamConfig{}.init(model);
  const auto loss_of = [&](const Model& m) { return cross_entropy(m.forward(images), targets); };
  const float before = loss_of(model).item();
  for (int step = 0; step < 100; ++step) {
    auto [loss, gradients] = value_and_grad(model, loss_of);
    model = adam.step(0.01, std::move(model), gradients);
  }
  const float after = loss_of(model).item();
  print("loss {:.4f} before, {:.4f} after 100 steps\n", before, after);
  return after < 0.1F ? 0 : 1;
}
