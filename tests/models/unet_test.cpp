#include <gtest/gtest.h>

#include "kiln/tensor/create.hpp"
#include "kiln/tensor/loss.hpp"
#include "models/unet.hpp"

#include "torch_figures.hpp"
#include "waves.hpp"

namespace kiln::models {
namespace {

TEST(UNet, LearnsAsInPyTorch) {
  const Device device = Device::cpu().autodiff();
  auto model = filled(UNetConfig{.channels = 2, .classes = 3, .width = 4, .depth = 2}.init(device));
  const Tensor<4> images = wave_tensor<4>("images", {2, 2, 8, 12});
  const Tensor<3, Int> targets = arange(2 * 8 * 12, device).remainder(3).reshape(2, 8, 12);
  const auto loss = [&](const UNet& m) { return cross_entropy(m.forward(images), targets); };
  const double first = step(model, loss), second = step(model, loss);
  expect_figures({first, second}, torch_numbers("UNetLosses"));
}

}  // namespace
}  // namespace kiln::models
