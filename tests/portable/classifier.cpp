// What a browser or a microcontroller does with a model: takes the weights from a file in memory and classifies.
// Portable builds compile this, and with it the headers of the facade, the modules and the records.
#include "kiln/nn/nn.hpp"
#include "kiln/store/record.hpp"

namespace kiln {

struct Classifier {
  nn::Conv2d conv;
  nn::Relu activation;
  nn::AdaptiveAvgPool2d pool;
  nn::Linear linear;

  /// images [batch, channels, height, width] -> logits [batch, classes]
  Tensor<2> forward(const Tensor<4>& images) const {
    return linear.forward(pool.forward(activation.forward(conv.forward(images))).flatten<1>());
  }
};

Classifier make_classifier(std::span<const std::byte> weights, const Device& device) {
  Classifier classifier{.conv = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device),
                        .activation = {},
                        .pool = {.sizes = {4}},
                        .linear = nn::LinearConfig{.in = 8 * 4 * 4, .out = 10}.init(device)};
  return valid(from_record(view_safetensors(weights, "classifier"), std::move(classifier), "classifier"));
}

std::int64_t classify(const Classifier& classifier, std::span<const float> pixels, std::int64_t side,
                      const Device& device) {
  const auto image = Tensor<4>::of(pixels, {1, 1, side, side}, device);
  return classifier.forward(image).softmax(1).argmax(1).reshape().item();
}

}  // namespace kiln
