// Batches in which each picture and its target are mixed with those of another.
#pragma once
#include <cstdint>

#include "kiln/core/random.hpp"
#include "kiln/data/picture/picture.hpp"

namespace kiln {

struct MixedBatch {
  TensorData images;   // float32 [batch, channels, height, width]
  TensorData targets;  // float32 [batch, classes]: the fraction of each class
  std::int64_t items() const { return targets.shape()[0]; }
};

/// Mixes picture i with picture i - 1 (the first with the last); the weight of the first is sampled from Beta(alpha,
/// alpha), once per batch (Zhang et al., "mixup: beyond empirical risk minimization", 2018). Throws ArgumentError for
/// an alpha that is not positive, DataError for a label out of range.
MixedBatch mixup(PictureBatch batch, std::int64_t classes, double alpha, Random& random);

/// Replaces a rectangle by that of picture i - 1; its relative area is sampled in the same way (Yun et al., "CutMix:
/// regularization strategy to train strong classifiers with localizable features", 2019).
MixedBatch cutmix(PictureBatch batch, std::int64_t classes, double alpha, Random& random);

/// A sample of Beta(alpha, beta), from two gamma samples (Marsaglia, Tsang, "A simple method for generating gamma
/// variables", 2000).
double draw_beta(double alpha, double beta, Random& random);

}  // namespace kiln
