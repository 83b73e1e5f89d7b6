#include "kiln/data/image_tensors.hpp"

#include <gtest/gtest.h>

#include "kiln/data/digits.hpp"
#include "kiln/data/loader.hpp"

namespace kiln {
namespace {

TEST(ImageTensors, HoldTheBatchOnADevice) {
  DataLoader loader(Digits({.count = 20}), ImageBatcher{}, {.batch_size = 20, .workers = 1});
  for (auto& batch : loader) {
    const ImageBatch expected = batch;
    const auto [images, targets] = to_tensors(std::move(batch), Device::cpu());
    EXPECT_EQ(images.shape(), (Shape{20, 28, 28}));
    EXPECT_EQ(difference(images.data(), expected.images), "");
    EXPECT_EQ(difference(targets.data(), expected.targets), "");
  }
}

}  // namespace
}  // namespace kiln
