#include "models/segmentation.hpp"

#include <algorithm>

#include "kiln/data/picture/picture.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/loss.hpp"
#include "kiln/vision/pictures.hpp"

namespace kiln::models {
namespace {

std::int64_t rounded_up(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

}  // namespace

Tensor<0> SegmentationLoss::forward(const Tensor<4>& logits, const Tensor<3, Int>& classes) const {
  const std::int64_t count = logits.dim(1);
  const Tensor<3, Bool> counts = ignore ? classes.ne(*ignore) : classes.eq(classes);
  const Tensor<3> weights = counts.to_float();
  const Tensor<3, Int> known = where(counts, classes, 0);
  const Tensor<3> each = kiln::cross_entropy<Reduction::None>(logits, known) * weights;
  const Tensor<0> pixels = weights.sum();
  // [classes, pixels]
  const auto by_class = [&](const Tensor<4>& x) { return (x * weights.unsqueeze(1)).permute(1, 0, 2, 3).flatten<1>(); };
  const Tensor<2> said = by_class(logits.softmax(1));
  const Tensor<2> truth = by_class(known.one_hot_fill(count, 1, 0, 1));
  const Tensor<0> apart = dice_loss(said, truth, smooth);
  return each.sum() / pixels.clamp(1, static_cast<double>(classes.numel())) * cross_entropy + apart * dice;
}

Picture segment(const UNet& model, const Picture& picture) {
  require_sound("segment", picture);
  const NoGrad pause;
  const Device device = model.head.weight.device().inner();
  const LabelledPicture item{picture};
  const auto image = Tensor<4>::from_data(PictureBatcher::image_net()(std::span(&item, 1)).images, device);
  const std::int64_t step = std::int64_t{1} << model.up.size();
  const vision::Margins margins{.bottom = rounded_up(picture.height, step) - picture.height,
                                .right = rounded_up(picture.width, step) - picture.width};
  const Tensor<4> padded = vision::make_border(image, margins, vision::Border::Replicate);
  const Tensor<3, Int> classes =
      valid(model).forward(padded).argmax(1).narrow(1, 0, picture.height).narrow(2, 0, picture.width);
  Picture mask = blank(picture.height, picture.width, 1);
  std::ranges::transform(classes.to_vector<std::int64_t>(), mask.pixels.begin(),
                         [](std::int64_t c) { return static_cast<std::uint8_t>(c); });
  return mask;
}

}  // namespace kiln::models
