// A perceptual loss against PyTorch's arithmetic (torch_figures.py).
#include "models/perceptual.hpp"

#include <gtest/gtest.h>

#include "kiln/nn/gradients.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

#include "agreement.hpp"

namespace kiln::models {
namespace {

using test::autodiff;

PerceptualLossConfig config() {
  return {.network = {.convolutions = {1, 2}, .width = 4},
          .content = {{2, 1, 0.5}},
          .style = {{1, 1, 2}, {2, 2}},
          .mean = {0.4, 0.5, 0.6},
          .deviation = {0.2, 0.25, 0.3}};
}

PerceptualLoss small_loss() {
  const TemporaryFile file("vgg.safetensors");
  write_tensors(state_dict(torch_state("Vgg")), file.path);
  PerceptualLoss loss = config().init(autodiff);
  load_torchvision(loss.network, file.path);
  return loss;
}

TEST(PerceptualLoss, ComparesWhatANetworkSees) {
  const PerceptualLoss loss = small_loss();
  const auto x = wave_tensor<4>("x", {2, 3, 8, 12}, 0.4, 0.5).require_grad(),
             content = wave_tensor<4>("content", {2, 3, 8, 12}, 0.4, 0.5),
             style = wave_tensor<4>("style", {2, 3, 16, 8}, 0.4, 0.5);
  const std::span<const double> each = torch_numbers("PerceptualLosses");
  ASSERT_EQ(each.size(), 2u);
  expect_figures(loss.forward_each(x, content, style).to_vector<double>(), each);
  const Tensor<0> mean = loss.forward(x, content, style);
  EXPECT_NEAR(mean.item(), (each[0] + each[1]) / 2, 1e-5);
  const Gradients grads = mean.backward();
  expect_figures(grads.of(x).narrow(2, 3, 1).narrow(3, 5, 1).to_vector<double>(), torch_numbers("PerceptualSlopes"));
  visit_params(loss.network, [&](const std::string& path, const auto& param) {
    EXPECT_FALSE(grads.find(param.value())) << path;  // it is the network that sees, not one that learns
  });
}

TEST(PerceptualLoss, OfOneTargetTakesContentAndStyleFromIt) {
  const PerceptualLoss loss = small_loss();
  const auto x = wave_tensor<4>("x", {2, 3, 8, 12}, 0.4, 0.5), target = wave_tensor<4>("y", {2, 3, 8, 12}, 0.4, 0.5);
  EXPECT_EQ(loss.forward(x, target).item(),
            loss.forward(x, target, wave_tensor<4>("y", {2, 3, 8, 12}, 0.4, 0.5)).item());
  EXPECT_GT(loss.forward(x, target).item(), 0.01);
  EXPECT_EQ(loss.forward(x, x).item(), 0);
}

TEST(PerceptualLoss, SaysWhatIsWrong) {
  PerceptualLoss loss = config().init(autodiff);
  const auto images = [](std::int64_t count, std::int64_t channels, std::int64_t size) {
    return zeros({count, channels, size, size}, autodiff);
  };
  EXPECT_EQ(sentence_of([&] { return loss.forward(images(1, 1, 8), images(1, 3, 8)); }),
            "ShapeError: PerceptualLoss: images must be [batch, 3, height, width], got float32 [1, 1, 8, 8]");
  EXPECT_EQ(
      sentence_of([&] { return loss.forward(images(1, 3, 8), images(1, 3, 4)); }),
      "ShapeError: PerceptualLoss: [1, 8, 4, 4] and [1, 8, 2, 2] of one layer differ; images must be as many, and "
      "of one size where content is compared");
  EXPECT_EQ(sentence_of([&] { return loss.forward(images(2, 3, 8), images(2, 3, 8), images(1, 3, 8)); }),
            "ShapeError: PerceptualLoss: [2, 4, 4] and [1, 4, 4] of one layer differ; images must be as many, and of "
            "one size where content is compared");
  const auto said = [](PerceptualLossConfig wrong) { return sentence_of([&] { return wrong.init(autodiff); }); };
  PerceptualLossConfig wrong = config();
  wrong.style = {{2, 3}};
  EXPECT_EQ(said(wrong), "ArgumentError: PerceptualLoss: the network has no layer relu2_3");
  wrong.style = wrong.content = {};
  EXPECT_EQ(said(wrong), "ArgumentError: PerceptualLossConfig: no layer is compared");
  wrong = config();
  wrong.mean = {};
  EXPECT_EQ(said(wrong), "ArgumentError: PerceptualLossConfig: 0 means and 3 deviations for images of 3 channels");
  wrong = config();
  wrong.deviation[1] = 0;
  EXPECT_EQ(said(wrong), "ArgumentError: PerceptualLossConfig: deviations must be positive, got 0");
  loss.content = {{0, 1}};
  EXPECT_EQ(sentence_of([&] { return loss.forward(images(1, 3, 8), images(1, 3, 8)); }),
            "ArgumentError: PerceptualLoss: the network has no layer relu0_1");
}

}  // namespace
}  // namespace kiln::models
