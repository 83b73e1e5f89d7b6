// What a browser or a microcontroller does with a model: takes the weights from a file in memory and classifies.
#include <cstring>

#include "kiln/nn.hpp"
#include "kiln/store/record.hpp"
#include "tests/portable/expect.hpp"

namespace kiln::test {
namespace {

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

/// A file as save() writes it. The filters hand each pixel on, the layer above asks for bright ones in class 3, and for
/// nothing in particular in class 7.
std::vector<std::byte> weights() {
  std::vector<float> elements;
  const auto append = [&](std::size_t count, auto&& element) {
    for (std::size_t i = 0; i < count; ++i) elements.push_back(element(i));
  };
  append(8 * 9, [](std::size_t i) { return i % 9 == 4 ? 1.f : 0.f; });
  append(8, [](std::size_t) { return 0.f; });
  append(10 * 128, [](std::size_t i) { return i / 128 == 3 ? 1 / 128.f : 0.f; });
  append(10, [](std::size_t i) { return i == 7 ? 0.5f : 0.f; });
  std::string header = R"({"conv.weight":{"dtype":"F32","shape":[8,1,3,3],"data_offsets":[0,288]},)"
                       R"("conv.bias":{"dtype":"F32","shape":[8],"data_offsets":[288,320]},)"
                       R"("linear.weight":{"dtype":"F32","shape":[10,128],"data_offsets":[320,5440]},)"
                       R"("linear.bias":{"dtype":"F32","shape":[10],"data_offsets":[5440,5480]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::vector<std::byte> file(8 + header.size() + 4 * elements.size());
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, header.data(), header.size());
  std::memcpy(file.data() + 8 + header.size(), elements.data(), 4 * elements.size());
  return file;
}

}  // namespace
}  // namespace kiln::test

int main() {
  using namespace kiln;
  const Device device = Device::cpu();
  const test::Classifier classifier = test::make_classifier(test::weights(), device);
  test::expect(test::classify(classifier, std::vector<float>(64, 0.75f), 8, device) == 3, "a bright image is a 3");
  test::expect(test::classify(classifier, std::vector<float>(64, 0.f), 8, device) == 7, "a dark image is a 7");
  return test::wrong ? 1 : 0;
}
