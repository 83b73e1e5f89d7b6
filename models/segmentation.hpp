// Training and using models that give each pixel a class, such as UNet.
#pragma once
#include <cstdint>
#include <optional>

#include "kiln/picture/picture.hpp"
#include "models/unet.hpp"

namespace kiln::models {

/// Cross entropy, which asks of each pixel alone, plus 1 - Dice's coefficient, which asks how regions overlap, however
/// small they are (Milletari et al., "V-Net", 2016; Isensee et al., "nnU-Net", 2021, add the two). The coefficient of a
/// class is that of all pixels of the batch; those of the classes are averaged.
struct SegmentationLoss {
  double cross_entropy = 1, dice = 1;        // weights
  double smooth = 1;                         // pixels added to both sides of the coefficient
  std::optional<std::int64_t> ignore = 255;  // pixels of this class count nowhere

  /// logits [batch, classes, height, width], classes [batch, height, width] -> a number. It is 0 where all pixels
  /// are to be ignored. Throws ShapeError, IndexError for a class out of range.
  Tensor<0> forward(const Tensor<4>& logits, const Tensor<3, Int>& classes) const;
};

/// The class of each pixel of a picture of any size: a mask of its size, from a model that was trained on batches of
/// MaskedBatcher with these means and deviations. The picture is continued at its right and lower edge to a size that the
/// model takes. Throws ShapeError.
Picture segment(const UNet& model, const Picture& picture);

}  // namespace kiln::models
