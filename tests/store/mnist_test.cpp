// Weights that PyTorch trained, as it saved them and as safetensors, in the model that they belong to: MNIST's test images
// are read as well as PyTorch read them. The environment may say where they lie: KILN_WEIGHTS the folder with mnist.pt and
// mnist.safetensors, KILN_DATA that of MNIST.
#include <gtest/gtest.h>

#include "kiln/data/image_tensors.hpp"
#include "kiln/data/mnist.hpp"
#include "kiln/nn.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/activation.hpp"
#include "kiln/tensor/order.hpp"

#include "tests/support/shared_data.hpp"

namespace kiln {
namespace {

struct Classifier {
  nn::Conv2d conv1, conv2, conv3;
  nn::BatchNorm norm1;
  nn::Linear fc1, fc2;
  nn::BatchNorm norm2;

  static Classifier make(const Device& device) {
    const auto conv = [&](std::int64_t in, std::int64_t out) {
      return nn::Conv2dConfig{.in = in, .out = out, .kernel = {3}}.init(device);
    };
    return {.conv1 = conv(1, 8),
            .conv2 = conv(8, 16),
            .conv3 = conv(16, 24),
            .norm1 = nn::BatchNormConfig{.channels = 24}.init(device),
            .fc1 = nn::LinearConfig{.in = 24 * 22 * 22, .out = 32}.init(device),
            .fc2 = nn::LinearConfig{.in = 32, .out = 10}.init(device),
            .norm2 = nn::BatchNormConfig{.channels = 10}.init(device)};
  }

  /// images [batch, 28, 28] -> logits [batch, 10]
  Tensor<2> forward(const Tensor<3>& images) const {
    Tensor<4> x = images.reshape(images.dim(0), 1, 28, 28);
    x = norm1.forward(conv3.forward(conv2.forward(conv1.forward(x).relu()).relu()).relu());
    return norm2.forward(fc2.forward(fc1.forward(x.reshape(images.dim(0), 24 * 22 * 22)).relu()));
  }
};

// All of them, unless the build is slow.
constexpr std::int64_t kImages = KILN_MNIST_IMAGES;

class TrainedElsewhere : public testing::TestWithParam<const char*> {};

TEST_P(TrainedElsewhere, ReadsMnistAsWell) {
  const std::string weights = shared_data("KILN_WEIGHTS", "weights"), data = shared_data("KILN_DATA", "mnist");
  if (weights.empty() || data.empty()) GTEST_SKIP() << "KILN_WEIGHTS and KILN_DATA name no folders";
  const Device device = Device::cpu();
  Classifier model = Classifier::make(device);
  const std::string file = text(weights, '/', GetParam());
  const LoadReport report = load(model, file, {.allow_unexpected = true});
  EXPECT_EQ(report.unused, (std::vector<std::string>{"norm1.num_batches_tracked", "norm2.num_batches_tracked"}));
  model = valid(model);

  const Mnist test = Mnist::load(data, Split::Test);
  const std::int64_t count = std::min(kImages, test.size());
  std::int64_t right = 0;
  for (std::int64_t first = 0; first < count; first += 100) {
    std::vector<Image> images;
    for (std::int64_t i = first; i < std::min(first + 100, count); ++i) images.push_back(test.get(i));
    const ImageTensors batch = to_tensors(ImageBatcher::normalized()(images), device);
    right += static_cast<std::int64_t>((model.forward(batch.images).argmax(1) == batch.targets).to_int().sum().item());
  }
  // PyTorch 2.15 with the same weights reads 9915 of the 10,000.
  EXPECT_GE(static_cast<double>(right) / static_cast<double>(count), 0.98);
  if (count == 10'000) { EXPECT_NEAR(static_cast<double>(right), 9915, 2); }
}
INSTANTIATE_TEST_SUITE_P(Files, TrainedElsewhere, testing::Values("mnist.pt", "mnist.safetensors"));

}  // namespace
}  // namespace kiln
