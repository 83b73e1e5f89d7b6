#include "kiln/data/image.hpp"

#include <gtest/gtest.h>

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;

Image image(std::vector<float> pixels, std::int64_t height, std::int64_t width, std::int64_t label) {
  return {.pixels = std::move(pixels), .height = height, .width = width, .label = label};
}

TEST(ImageBatcher, StacksImagesAndLabels) {
  const std::vector<Image> images = {image({0, 1, .5f, .25f, 0, 1}, 2, 3, 7), image({1, 1, 1, 0, 0, 0}, 2, 3, 0)};
  const ImageBatch batch = ImageBatcher{}(images);
  EXPECT_EQ(difference(batch.images, TensorData::of<float>({2, 2, 3}, {0, 1, .5f, .25f, 0, 1, 1, 1, 1, 0, 0, 0})), "");
  EXPECT_EQ(difference(batch.targets, TensorData::of<std::int64_t>({2}, {7, 0})), "");
}

TEST(ImageBatcher, NormalizesWhereAsked) {
  const std::vector<Image> images = {image({0, 1}, 1, 2, 3)};
  const ImageBatch batch = ImageBatcher::normalized()(images);
  // (0 - 0.1307) / 0.3081 and (1 - 0.1307) / 0.3081, worked out to ten digits
  EXPECT_EQ(difference(batch.images, TensorData::of<float>({1, 1, 2}, {-0.4242129179f, 2.8214865303f})), "");
}

TEST(ImageBatcher, RefusesImagesThatDoNotStack) {
  const auto refusal = [](const std::vector<Image>& images) {
    return raised<ShapeError>([&] { ImageBatcher{}(images); });
  };
  EXPECT_EQ(refusal({}), "image batcher: a batch needs at least one image");
  EXPECT_EQ(refusal({image({0, 1}, 1, 2, 0), image({0, 1}, 2, 1, 0)}),
            "image batcher: an image of [2, 1] in a batch of [1, 2]");
  EXPECT_EQ(refusal({image({0, 1, 2}, 1, 2, 0)}), "image batcher: an image of [1, 2] has 3 pixels");
}

}  // namespace
}  // namespace kiln
