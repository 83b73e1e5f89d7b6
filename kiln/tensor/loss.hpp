// Losses. The reduction is part of the type: mse_loss(x, t) is the mean, a Tensor<0>; mse_loss<Reduction::Sum>(x, t)
// the sum; mse_loss<Reduction::None>(x, t) returns a loss for each element. The losses are defined in
// ops/loss/loss.hpp.
#pragma once
#include <concepts>

#include "kiln/ops/loss/boxes.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// The rank of a loss of `D` dimensions.
template <Reduction R, int D>
inline constexpr int kLossRank = R == Reduction::None ? D : 0;

/// Stands for the loss of a call that does not compile.
struct RefusedLoss : Tensor<0> {};
template <int D>
RefusedLoss target_of_another_type() {
  static_assert(
      D < 0,
      "a loss takes floats of one rank and a target like them: squeeze(dim) or unsqueeze(dim) one of them, or "
      "cast by to_float()");
  return {};
}

// ---- of classes ----------------------------------------------------------------------------------------------------

/// logits [batch, classes, sizes...], targets [batch, sizes...] of class indices.
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D - 1>> cross_entropy(const Tensor<D>& logits, const Tensor<D - 1, Int>& targets,
                                          const CrossEntropyOptions& options = {}) {
  return Typed{cross_entropy(logits.value(), targets.value(), options, R)};
}
/// Targets are probabilities of the shape of logits.
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D - 1>> cross_entropy(const Tensor<D>& logits, const Tensor<D>& targets,
                                          const CrossEntropyOptions& options = {}) {
  return Typed{cross_entropy(logits.value(), targets.value(), options, R)};
}
template <Reduction R = Reduction::Mean, int D, int E, class K>
requires(!(E == D - 1 && std::same_as<K, Int>) && !(E == D && std::same_as<K, Float>))
RefusedLoss cross_entropy(const Tensor<D>&, const Tensor<E, K>&) {
  static_assert(D < 0,
                "cross_entropy: logits are [batch, classes, ...]; targets are classes [batch, ...] of Int, or "
                "probabilities of the logits' shape");
  return {};
}
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D - 1>> nll_loss(const Tensor<D>& log_probabilities, const Tensor<D - 1, Int>& targets,
                                     const NllOptions& options = {}) {
  return Typed{nll_loss(log_probabilities.value(), targets.value(), options, R)};
}
template <Reduction R = Reduction::Mean, int D, class K>
Tensor<kLossRank<R, D>> binary_cross_entropy(const Tensor<D>& probabilities, const Tensor<D, K>& targets,
                                             const BinaryCrossEntropyOptions& options = {}) {
  return Typed{binary_cross_entropy(probabilities.value(), targets.value(), options, R)};
}
template <Reduction R = Reduction::Mean, int D, class K>
Tensor<kLossRank<R, D>> binary_cross_entropy_with_logits(const Tensor<D>& logits, const Tensor<D, K>& targets,
                                                         const BinaryCrossEntropyOptions& options = {}) {
  return Typed{binary_cross_entropy_with_logits(logits.value(), targets.value(), options, R)};
}
template <Reduction R = Reduction::Mean, int D, class K>
Tensor<kLossRank<R, D>> sigmoid_focal_loss(const Tensor<D>& logits, const Tensor<D, K>& targets, double alpha = 0.25,
                                           double gamma = 2) {
  return Typed{sigmoid_focal_loss(logits.value(), targets.value(), alpha, gamma, R)};
}
template <Reduction R = Reduction::Mean>
Tensor<kLossRank<R, 1>> multi_margin_loss(const Tensor<2>& x, const Tensor<1, Int>& targets,
                                          const MultiMarginOptions& options = {}) {
  return Typed{multi_margin_loss(x.value(), targets.value(), options, R)};
}
/// targets: the classes of an example, and then -1.
template <Reduction R = Reduction::Mean, int D>
requires(D == 1 || D == 2)
Tensor<kLossRank<R, D - 1>> multilabel_margin_loss(const Tensor<D>& x, const Tensor<D, Int>& targets) {
  return Typed{multilabel_margin_loss(x.value(), targets.value(), R)};
}
template <Reduction R = Reduction::Mean, int D, class K>
requires(D >= 1)
Tensor<kLossRank<R, D - 1>> multilabel_soft_margin_loss(const Tensor<D>& logits, const Tensor<D, K>& targets,
                                                        const Tensor<1>& weights = {}) {
  return Typed{multilabel_soft_margin_loss(logits.value(), targets.value(), weights.value(), R)};
}
template <Reduction R = Reduction::Mean, int D, class K>
Tensor<kLossRank<R, 1>> dice_loss(const Tensor<D>& probabilities, const Tensor<D, K>& targets, double smooth = 1) {
  static_assert(D >= 1, "dice_loss: needs [batch, ...]");
  return Typed{dice_loss(probabilities.value(), targets.value(), smooth, R)};
}

// ---- of numbers ----------------------------------------------------------------------------------------------------

template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D>> mse_loss(const Tensor<D>& x, const Tensor<D>& target) {
  return Typed{mse_loss(x.value(), target.value(), R)};
}
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D>> l1_loss(const Tensor<D>& x, const Tensor<D>& target) {
  return Typed{l1_loss(x.value(), target.value(), R)};
}
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D>> lp_loss(const Tensor<D>& x, const Tensor<D>& target, double p) {
  return Typed{lp_loss(x.value(), target.value(), p, R)};
}
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D>> smooth_l1_loss(const Tensor<D>& x, const Tensor<D>& target, double beta = 1) {
  return Typed{smooth_l1_loss(x.value(), target.value(), beta, R)};
}
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D>> huber_loss(const Tensor<D>& x, const Tensor<D>& target, double delta = 1) {
  return Typed{huber_loss(x.value(), target.value(), delta, R)};
}

#define KILN_TARGET_OF_ANOTHER_TYPE(function)                                                               \
  template <Reduction R = Reduction::Mean, int D, int E, class K>                                           \
  requires(E != D || !std::same_as<K, Float>) RefusedLoss function(const Tensor<D>&, const Tensor<E, K>&) { \
    return target_of_another_type<D>();                                                                     \
  }
KILN_TARGET_OF_ANOTHER_TYPE(mse_loss)
KILN_TARGET_OF_ANOTHER_TYPE(l1_loss)
KILN_TARGET_OF_ANOTHER_TYPE(smooth_l1_loss)
KILN_TARGET_OF_ANOTHER_TYPE(huber_loss)
#undef KILN_TARGET_OF_ANOTHER_TYPE

// ---- of distributions ----------------------------------------------------------------------------------------------

template <Reduction R = Reduction::BatchMean, int D>
Tensor<kLossRank<R, D>> kl_div(const Tensor<D>& log_probabilities, const Tensor<D>& target, bool log_target = false) {
  return Typed{kl_div(log_probabilities.value(), target.value(), log_target, R)};
}
template <Reduction R = Reduction::Mean, int D, class K>
Tensor<kLossRank<R, D>> poisson_nll_loss(const Tensor<D>& x, const Tensor<D, K>& target,
                                         const PoissonNllOptions& options = {}) {
  return Typed{poisson_nll_loss(x.value(), target.value(), options, R)};
}
template <Reduction R = Reduction::Mean, int D, int E>
Tensor<kLossRank<R, D>> gaussian_nll_loss(const Tensor<D>& x, const Tensor<D>& target, const Tensor<E>& variance,
                                          const GaussianNllOptions& options = {}) {
  static_assert(E <= D, "gaussian_nll_loss: the variance broadcasts to x");
  return Typed{gaussian_nll_loss(x.value(), target.value(), variance.value(), options, R)};
}

// ---- of similarity; y is 1 or -1 -------------------------------------------------------------------------------------

template <Reduction R = Reduction::Mean, int D, class K>
Tensor<kLossRank<R, D>> hinge_embedding_loss(const Tensor<D>& x, const Tensor<D, K>& y, double margin = 1) {
  return Typed{hinge_embedding_loss(x.value(), y.value(), margin, R)};
}
template <Reduction R = Reduction::Mean, int D, class K>
Tensor<kLossRank<R, D>> margin_ranking_loss(const Tensor<D>& a, const Tensor<D>& b, const Tensor<D, K>& y,
                                            double margin = 0) {
  return Typed{margin_ranking_loss(a.value(), b.value(), y.value(), margin, R)};
}
template <Reduction R = Reduction::Mean, int D, class K>
Tensor<kLossRank<R, D>> soft_margin_loss(const Tensor<D>& x, const Tensor<D, K>& y) {
  return Typed{soft_margin_loss(x.value(), y.value(), R)};
}
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, D - 1>> triplet_margin_loss(const Tensor<D>& anchor, const Tensor<D>& positive,
                                                const Tensor<D>& negative, const TripletMarginOptions& options = {}) {
  return Typed{triplet_margin_loss(anchor.value(), positive.value(), negative.value(), options, R)};
}
template <Reduction R = Reduction::Mean, class K>
Tensor<kLossRank<R, 1>> cosine_embedding_loss(const Tensor<2>& a, const Tensor<2>& b, const Tensor<1, K>& y,
                                              double margin = 0) {
  return Typed{cosine_embedding_loss(a.value(), b.value(), y.value(), margin, R)};
}

// ---- of boxes [x1, y1, x2, y2] ---------------------------------------------------------------------------------------

/// a [n, 4], b [m, 4] -> [n, m]: the overlap of each box of a with each of b
inline Tensor<2> box_iou(const Tensor<2>& a, const Tensor<2>& b, BoxOverlap kind = BoxOverlap::Iou) {
  return Typed{box_iou(a.value(), b.value(), kind)};
}
/// x, target [..., 4]: 1 - overlap of each pair
template <Reduction R = Reduction::Mean, int D>
requires(D >= 1) Tensor<kLossRank<R, D - 1>> box_iou_loss(const Tensor<D>& x, const Tensor<D>& target,
                                                          BoxOverlap kind = BoxOverlap::Giou) {
  return Typed{box_iou_loss(x.value(), target.value(), kind, R)};
}

// ---- of style --------------------------------------------------------------------------------------------------------

/// x [batch, channels, sizes...] -> [batch, channels, channels]
template <int D>
Tensor<3> gram_matrix(const Tensor<D>& x) {
  static_assert(D >= 2, "gram_matrix: needs [batch, channels, sizes...]");
  return Typed{gram_matrix(x.value())};
}
template <Reduction R = Reduction::Mean, int D>
Tensor<kLossRank<R, 3>> gram_matrix_loss(const Tensor<D>& x, const Tensor<D>& target) {
  return Typed{gram_matrix_loss(x.value(), target.value(), R)};
}

}  // namespace kiln
