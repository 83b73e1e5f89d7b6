#include "kiln/data/image.hpp"

#include <algorithm>

namespace kiln {

ImageBatch ImageBatcher::operator()(std::span<const Image> images) const {
  require<ShapeError>(!images.empty(), "image batcher: a batch needs at least one image");
  const Image& first = images.front();
  const auto batch = static_cast<std::int64_t>(images.size());
  ImageBatch result{TensorData({batch, first.height, first.width}, DType::F32), TensorData({batch}, DType::I64)};

  auto pixels = result.images.as<float>().begin();
  auto target = result.targets.as<std::int64_t>().begin();
  for (const Image& image : images) {
    const Shape shape = {image.height, image.width};
    require<ShapeError>(shape == Shape{first.height, first.width}, "image batcher: an image of ", shape,
                        " in a batch of [", first.height, ", ", first.width, "]");
    require<ShapeError>(static_cast<std::int64_t>(image.pixels.size()) == numel(shape), "image batcher: an image of ",
                        shape, " has ", image.pixels.size(), " pixels");
    pixels = std::transform(image.pixels.begin(), image.pixels.end(), pixels,
                            [this](float pixel) { return (pixel - mean) / deviation; });
    *target++ = image.label;
  }
  return result;
}

}  // namespace kiln
