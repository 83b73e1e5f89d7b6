// Losses. Predictions and targets have one shape (a loss that broadcasts is nearly always a mistake: ShapeError), and the
// result is a scalar, or unreduced with Reduction::None. Definitions are those of PyTorch's functions of the same name.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/tensor_option.hpp"

namespace kiln {

enum class Reduction : std::uint8_t {
  None,
  Mean,       // over all elements
  Sum,        //
  BatchMean,  // the sum divided by the size of the first dimension
};

/// Reduces losses of any shape: for user-defined losses.
Value reduced(const Value& losses, Reduction reduction);

// ---- of classes ----------------------------------------------------------------------------------------------------
struct CrossEntropyOptions {
  TensorOption weights = {};                // [classes]; the mean is then weighted by those of the targets
  std::optional<std::int64_t> ignore = {};  // targets with this class are ignored; the mean of none is NaN
  double label_smoothing = 0;               // the part of the target that is spread evenly over all classes
};
/// -log_softmax(logits)[target]: logits [batch, classes, sizes...], targets [batch, sizes...] of class indices, or
/// probabilities of the shape of logits (then `ignore` must be left out, and the mean divides by the number of targets).
Value cross_entropy(const Value& logits, const Value& targets, const CrossEntropyOptions& options = {},
                    Reduction reduction = Reduction::Mean);

struct NllOptions {
  TensorOption weights = {};
  std::optional<std::int64_t> ignore = {};
};
/// -log_probabilities[target], as cross_entropy after log_softmax.
Value nll_loss(const Value& log_probabilities, const Value& targets, const NllOptions& options = {},
               Reduction reduction = Reduction::Mean);

struct BinaryCrossEntropyOptions {
  TensorOption weights = {};           // of elements, broadcast to the predictions
  TensorOption positive_weights = {};  // of targets that are 1, broadcast to the predictions; only with logits
  double label_smoothing = 0;          // moves targets towards 1/2 by this fraction
};
/// -(t log p + (1 - t) log(1 - p)) of probabilities; logarithms are bounded by -100. ArgumentError for p outside [0, 1].
Value binary_cross_entropy(const Value& probabilities, const Value& targets,
                           const BinaryCrossEntropyOptions& options = {}, Reduction reduction = Reduction::Mean);
/// Binary cross entropy of logits, without overflow: p = sigmoid(logits).
Value binary_cross_entropy_with_logits(const Value& logits, const Value& targets,
                                       const BinaryCrossEntropyOptions& options = {},
                                       Reduction reduction = Reduction::Mean);
/// Binary cross entropy times (1 - p_t)^gamma, weighted by alpha where the target is 1 and 1 - alpha where it is 0, unless
/// alpha is negative (Lin et al., "Focal loss for dense object detection", 2017).
Value sigmoid_focal_loss(const Value& logits, const Value& targets, double alpha = 0.25, double gamma = 2,
                         Reduction reduction = Reduction::Mean);
struct MultiMarginOptions {
  double margin = 1;
  double power = 1;
  TensorOption weights = {};  // [classes]
};
/// sum over j != t of max(0, margin - x_t + x_j)^power / classes: x [batch, classes], targets [batch] of class indices.
Value multi_margin_loss(const Value& x, const Value& targets, const MultiMarginOptions& options = {},
                        Reduction reduction = Reduction::Mean);
/// The sum, over the classes j that an example has and the classes i that it has not, of
/// max(0, 1 - x_j + x_i) / classes: x [batch, classes] or [classes], targets of its shape: the classes of the example,
/// then -1.
Value multilabel_margin_loss(const Value& x, const Value& targets, Reduction reduction = Reduction::Mean);
/// The mean over classes of binary_cross_entropy_with_logits: logits [batch, classes] or [classes], targets of its shape,
/// 0 or 1; `weights` [classes] or none.
Value multilabel_soft_margin_loss(const Value& logits, const Value& targets, const Value& weights = {},
                                  Reduction reduction = Reduction::Mean);
/// 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth) over all dimensions but the first (Milletari et al., 2016).
Value dice_loss(const Value& probabilities, const Value& targets, double smooth = 1,
                Reduction reduction = Reduction::Mean);

// ---- of numbers ----------------------------------------------------------------------------------------------------
/// (x - t)^2
Value mse_loss(const Value& x, const Value& target, Reduction reduction = Reduction::Mean);
/// |x - t|
Value l1_loss(const Value& x, const Value& target, Reduction reduction = Reduction::Mean);
/// |x - t|^p
Value lp_loss(const Value& x, const Value& target, double p, Reduction reduction = Reduction::Mean);
/// (x - t)^2 / (2 beta) where |x - t| < beta, beyond it |x - t| - beta / 2.
Value smooth_l1_loss(const Value& x, const Value& target, double beta = 1, Reduction reduction = Reduction::Mean);
/// (x - t)^2 / 2 where |x - t| <= delta, beyond it delta (|x - t| - delta / 2).
Value huber_loss(const Value& x, const Value& target, double delta = 1, Reduction reduction = Reduction::Mean);

// ---- of distributions ----------------------------------------------------------------------------------------------
/// t (log t - x) for logarithms of probabilities x; with `log_target` t is a logarithm too. By default the sum divided
/// by the number of samples, which is the divergence; PyTorch's default is the mean over elements.
Value kl_div(const Value& log_probabilities, const Value& target, bool log_target = false,
             Reduction reduction = Reduction::BatchMean);
struct PoissonNllOptions {
  bool log_input = true;  // x is the logarithm of the rate
  bool full = false;      // with Stirling's approximation of log(t!) for t > 1
  double epsilon = 1e-8;  // added to a rate before its logarithm
};
/// exp(x) - t x, or x - t log(x + epsilon) of rates.
Value poisson_nll_loss(const Value& x, const Value& target, const PoissonNllOptions& options = {},
                       Reduction reduction = Reduction::Mean);
struct GaussianNllOptions {
  bool full = false;      // with the constant log(2 pi) / 2
  double epsilon = 1e-6;  // the least variance
};
/// (log v + (x - t)^2 / v) / 2; the variance v broadcasts to x.
Value gaussian_nll_loss(const Value& x, const Value& target, const Value& variance,
                        const GaussianNllOptions& options = {}, Reduction reduction = Reduction::Mean);

// ---- of similarity; y is 1 or -1 -------------------------------------------------------------------------------------
/// x where y is 1, max(0, margin - x) where it is -1.
Value hinge_embedding_loss(const Value& x, const Value& y, double margin = 1, Reduction reduction = Reduction::Mean);
/// max(0, margin - y (a - b))
Value margin_ranking_loss(const Value& a, const Value& b, const Value& y, double margin = 0,
                          Reduction reduction = Reduction::Mean);
/// log(1 + exp(-y x))
Value soft_margin_loss(const Value& x, const Value& y, Reduction reduction = Reduction::Mean);
struct TripletMarginOptions {
  double margin = 1, p = 2;
  double epsilon = 1e-6;  // added to differences
  bool swap = false;      // uses the distance of the negative from the positive where it is smaller
};
/// max(0, |anchor - positive| - |anchor - negative| + margin) with p-norms over the last dimension.
Value triplet_margin_loss(const Value& anchor, const Value& positive, const Value& negative,
                          const TripletMarginOptions& options = {}, Reduction reduction = Reduction::Mean);
/// a, b [batch, width], y [batch]: 1 - cos where y is 1, max(0, cos - margin) where it is -1.
Value cosine_embedding_loss(const Value& a, const Value& b, const Value& y, double margin = 0,
                            Reduction reduction = Reduction::Mean);

// ---- of style --------------------------------------------------------------------------------------------------------
/// x [batch, channels, sizes...] -> [batch, channels, channels]: inner products of channels, divided by channels x sizes
/// (Gatys, Ecker, Bethge, "A neural algorithm of artistic style", 2015).
Value gram_matrix(const Value& x);
/// The mean squared difference of Gram matrices.
Value gram_matrix_loss(const Value& x, const Value& target, Reduction reduction = Reduction::Mean);

}  // namespace kiln
