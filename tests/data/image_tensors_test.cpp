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

TEST(ImageTensors, BecomeImagesAgain) {
  const auto images = to_images(Tensor<3>::of({{{0, 1, 2}, {3, 4, 5}}, {{6, 7, 8}, {9, 10, 11}}}, Device::cpu()));
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[1].pixels, (std::vector<float>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(images[1].height, 2);
  EXPECT_EQ(images[1].width, 3);
}

}  // namespace
}  // namespace kiln
