#include "kiln/data/picture/mix.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

/// The logarithm of a gamma sample of that shape, since samples of small shapes underflow.
double draw_log_gamma(double shape, Random& random) {
  if (shape < 1) return draw_log_gamma(shape + 1, random) + std::log1p(-random.uniform()) / shape;
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log1p(-random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

TensorData mixed_targets(const TensorData& targets, std::int64_t classes, double share) {
  const auto labels = targets.as<std::int64_t>();
  for (const auto label : labels)
    require<DataError>(label >= 0 && label < classes, "mixed batch: the label ", label, " is none of ", classes,
                       " classes");
  TensorData mixed({targets.numel(), classes}, DType::F32);
  const auto out = mixed.as<float>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    float* row = &out[i * static_cast<std::size_t>(classes)];
    row[labels[i]] += static_cast<float>(share);
    row[labels[(i + labels.size() - 1) % labels.size()]] += static_cast<float>(1 - share);
  }
  return mixed;
}

/// Calls mix(its own values, the other picture's values) for each picture.
template <class Mix>
void mix_each(TensorData& images, Mix mix) {
  const TensorData before = images;
  const auto out = images.as<float>();
  const auto in = before.as<float>();
  const auto count = static_cast<std::size_t>(images.shape()[0]), size = out.size() / count;
  for (std::size_t i = 0; i < count; ++i)
    mix(out.subspan(i * size, size), in.subspan((i + count - 1) % count * size, size));
}

void require_mixable(const PictureBatch& batch) {
  require<ShapeError>(batch.images.shape().size() == 4 && batch.images.numel() > 0, "mixed batch: images of shape ",
                      batch.images.shape(), " are not [batch, channels, height, width]");
}

}  // namespace

double draw_beta(double alpha, double beta, Random& random) {
  require<ArgumentError>(alpha > 0 && beta > 0 && std::isfinite(alpha) && std::isfinite(beta),
                         "beta distribution: ", alpha, " and ", beta, " must be positive");
  const double a = draw_log_gamma(alpha, random), b = draw_log_gamma(beta, random);
  return 1 / (1 + std::exp(b - a));
}

MixedBatch mixup(PictureBatch batch, std::int64_t classes, double alpha, Random& random) {
  require_mixable(batch);
  const double share = draw_beta(alpha, alpha, random);
  TensorData targets = mixed_targets(batch.targets, classes, share);
  const auto own = static_cast<float>(share);
  mix_each(batch.images, [own](std::span<float> x, std::span<const float> other) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = own * x[i] + (1 - own) * other[i];
  });
  return {std::move(batch.images), std::move(targets)};
}

MixedBatch cutmix(PictureBatch batch, std::int64_t classes, double alpha, Random& random) {
  require_mixable(batch);
  const Shape shape = batch.images.shape();
  const std::int64_t height = shape[2], width = shape[3];
  // Side of the rectangle, relative to the picture's.
  const double side = std::sqrt(1 - draw_beta(alpha, alpha, random));
  const auto half = [side](std::int64_t size) {
    return static_cast<std::int64_t>(side * static_cast<double>(size) / 2);
  };
  const std::int64_t y = random.below(height), x = random.below(width);
  const std::int64_t top = std::max<std::int64_t>(y - half(height), 0), bottom = std::min(y + half(height), height);
  const std::int64_t left = std::max<std::int64_t>(x - half(width), 0), right = std::min(x + half(width), width);
  // The border clips rectangles: the remaining area counts.
  const double share = 1 - static_cast<double>((bottom - top) * (right - left)) / static_cast<double>(height * width);
  TensorData targets = mixed_targets(batch.targets, classes, share);
  mix_each(batch.images, [&](std::span<float> image, std::span<const float> other) {
    for (std::int64_t row = 0; row < shape[1] * height; ++row) {
      if (row % height < top || row % height >= bottom) continue;
      std::copy_n(other.begin() + row * width + left, right - left, image.begin() + row * width + left);
    }
  });
  return {std::move(batch.images), std::move(targets)};
}

}  // namespace kiln
