// Batches in which each picture is mixed with another one, and its target with the other's.
#pragma once
#include <cstdint>

#include "kiln/core/random.hpp"
#include "kiln/data/picture/picture.hpp"

namespace kiln {

struct MixedBatch {
  TensorData images;   // float32 [batch, channels, height, width]
  TensorData targets;  // float32 [batch, classes]: how much of each class there is
  std::int64_t items() const { return targets.shape()[0]; }
};

/// Picture i and picture i - 1 (the first with the last), of the first a share that is drawn from Beta(alpha, alpha), which is
/// the batch's (Zhang et al., "mixup: beyond empirical risk minimization", 2018). Throws ArgumentError for an alpha that is not
/// positive, DataError for a label that is no class.
MixedBatch mixup(PictureBatch batch, std::int64_t classes, double alpha, Random& random);

/// Of picture i - 1 a rectangle, the share of whose area is drawn likewise (Yun et al., "CutMix: regularization strategy to train
/// strong classifiers with localizable features", 2019).
MixedBatch cutmix(PictureBatch batch, std::int64_t classes, double alpha, Random& random);

/// Beta(alpha, beta), from two gamma numbers (Marsaglia, Tsang, "A simple method for generating gamma variables", 2000).
double draw_beta(double alpha, double beta, Random& random);

}  // namespace kiln
