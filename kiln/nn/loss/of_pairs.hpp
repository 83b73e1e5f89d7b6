// Losses of similarity, of ranking, and of matching vectors. Targets y are 1 or -1.
#pragma once
#include "kiln/nn/loss/reduced.hpp"

namespace kiln::nn {

/// x where y is 1, max(0, margin - x) where it is -1.
struct HingeEmbeddingLoss {
  double margin = 1;
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(HingeEmbeddingLoss, hinge_embedding_loss, margin)
};

/// forward(a, b, y): max(0, margin - y (a - b))
struct MarginRankingLoss {
  double margin = 0;
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(MarginRankingLoss, margin_ranking_loss, margin)
};

/// log(1 + exp(-y x))
struct SoftMarginLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(SoftMarginLoss, soft_margin_loss)
};

/// forward(a [batch, width], b, y [batch]): 1 - cos where y is 1, max(0, cos - margin) where it is -1.
struct CosineEmbeddingLoss {
  double margin = 0;
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(CosineEmbeddingLoss, cosine_embedding_loss, margin)
};

/// forward(anchor [..., width], positive, negative): max(0, |anchor - positive| - |anchor - negative| + margin)
struct TripletMarginLoss {
  double margin = 1, p = 2;
  double epsilon = 1e-6;  // added to differences
  bool swap = false;      // uses the negative's distance from the positive if it is smaller
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(TripletMarginLoss, triplet_margin_loss, TripletMarginOptions{margin, p, epsilon, swap})
};

/// Query i must match key i among all keys: cross entropy of cosines / temperature (van den Oord, Li, Vinyals,
/// "Representation learning with contrastive predictive coding", 2018).
struct InfoNceLoss {
  double temperature = 0.1;
  bool symmetric = false;  // also key i must match query i: the mean of both, as in CLIP
  Reduction reduction = Reduction::Mean;

  /// queries, keys [batch, width] -> scalar. Throws ShapeError, and ArgumentError unless the temperature is positive.
  Tensor<0> forward(const Tensor<2>& queries, const Tensor<2>& keys) const;
  Tensor<1> forward_each(const Tensor<2>& queries, const Tensor<2>& keys) const;
};

}  // namespace kiln::nn
