#include "kiln/data/picture/picture.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln {

PictureBatch PictureBatcher::operator()(std::span<const LabelledPicture> pictures) const {
  require<ShapeError>(!pictures.empty(), "picture batch: a batch needs at least one picture");
  const Picture& first = pictures.front().picture;
  const auto channels = static_cast<std::size_t>(first.channels);
  require_sound("picture batch", first);
  for (const auto* const numbers : {&mean, &deviation})
    require<ArgumentError>(numbers->size() == 1 || numbers->size() == channels, "picture batch: ", numbers->size(),
                           " means or deviations for ", channels, " channels");
  for (const float x : deviation) require<ArgumentError>(x > 0, "picture batch: a deviation is ", x, ", not positive");
  const auto count = static_cast<std::int64_t>(pictures.size());
  PictureBatch batch{TensorData({count, first.channels, first.height, first.width}, DType::F32),
                     TensorData({count}, DType::I64)};
  const auto area = static_cast<std::size_t>(first.height * first.width);
  auto out = batch.images.as<float>().begin();
  const auto targets = batch.targets.as<std::int64_t>();
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const Picture& picture = pictures[i].picture;
    require_sound("picture batch", picture);
    require<ShapeError>(
        picture.height == first.height && picture.width == first.width && picture.channels == first.channels,
        "picture batch: picture ", i, " is ", Shape{picture.height, picture.width, picture.channels}, ", the first is ",
        Shape{first.height, first.width, first.channels});
    for (std::size_t channel = 0; channel < channels; ++channel) {
      std::array<float, 256> value;  // the result for each byte
      const float shift = mean[mean.size() == 1 ? 0 : channel], scale = deviation[deviation.size() == 1 ? 0 : channel];
      for (std::size_t byte = 0; byte < value.size(); ++byte)
        value[byte] = (static_cast<float>(byte) / 255.0f - shift) / scale;
      for (std::size_t pixel = 0; pixel < area; ++pixel) *out++ = value[picture.pixels[pixel * channels + channel]];
    }
    targets[i] = pictures[i].label;
  }
  return batch;
}

}  // namespace kiln
