#include "tests/compile/digits.hpp"

#include <algorithm>

#include "kiln/data/image_tensors.hpp"
#include "kiln/data/mnist.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "tests/support/shared_data.hpp"

namespace kiln::compile {

std::optional<DigitImages> digit_images(std::int64_t train, std::int64_t test) {
  const std::string directory = shared_data("KILN_DATA", "mnist");
  if (directory.empty()) return {};
  const auto first = [&](Split split, std::int64_t count) {
    const Mnist all = Mnist::load(directory, split);
    std::vector<Image> images;
    for (std::int64_t i = 0; i < std::min(count, all.size()); ++i) images.push_back(all.get(i));
    return images;
  };
  return DigitImages{first(Split::Train, train), first(Split::Test, test)};
}

SmallReader SmallReader::init(const Device& device) {
  return {.conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {5}, .stride = {2}, .padding = {2}}.init(device),
          .conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}, .stride = {2}, .padding = {1}}.init(device),
          .linear = nn::LinearConfig{.in = 16 * 7 * 7, .out = 10}.init(device)};
}

Tensor<2> SmallReader::forward(const Tensor<3>& images) const {
  return linear.forward(conv2.forward(conv1.forward(images.unsqueeze(1)).relu()).relu().flatten<1>());
}

SmallReader trained(SmallReader network, const std::vector<Image>& images, const Device& device) {
  constexpr std::size_t kBatch = 64;
  auto optimizer = AdamConfig{}.init(network);
  for (std::size_t i = 0; i + kBatch <= images.size(); i += kBatch) {
    const auto [x, y] = to_tensors(ImageBatcher{}(std::span(images).subspan(i, kBatch)), device.inner());
    auto [loss, gradients] = value_and_grad(
        network, [&](const SmallReader& each) { return nn::CrossEntropyLoss{}.forward(each.forward(x), y); });
    network = optimizer.step(2e-3, std::move(network), gradients);
  }
  return network;
}

}  // namespace kiln::compile
