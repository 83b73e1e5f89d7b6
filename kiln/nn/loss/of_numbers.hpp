// Losses of predicted numbers and distributions. Predictions x and targets have the same shape (a loss that broadcasts
// is nearly always a mistake: ShapeError). Each is documented by the function of its name in kiln/ops/loss/loss.hpp.
#pragma once
#include "kiln/nn/loss/reduced.hpp"

namespace kiln::nn {

/// (x - target)^2
struct MseLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(MseLoss, mse_loss)
};

/// |x - target|
struct L1Loss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(L1Loss, l1_loss)
};

/// |x - target|^p
struct LpLoss {
  double p = 2;
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(LpLoss, lp_loss, p)
};

/// Squared within `beta`, linear beyond: |d| - beta / 2.
struct SmoothL1Loss {
  double beta = 1;
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(SmoothL1Loss, smooth_l1_loss, beta)
};

/// d^2 / 2 within `delta`, linear beyond.
struct HuberLoss {
  double delta = 1;
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(HuberLoss, huber_loss, delta)
};

/// target (log target - x), where x are logarithms of probabilities. The default sum / number of samples is the
/// divergence.
struct KlDivLoss {
  bool log_target = false;  // is the target a logarithm, too?
  Reduction reduction = Reduction::BatchMean;
  KILN_LOSS(KlDivLoss, kl_div, log_target)
};

/// The loss of counts, exp(x) - target x.
struct PoissonNllLoss {
  bool log_input = true;  // is x the logarithm of the rate?
  bool full = false;      // includes Stirling's approximation of log(target!)
  double epsilon = 1e-8;  // added to a rate before its logarithm is taken
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(PoissonNllLoss, poisson_nll_loss, PoissonNllOptions{log_input, full, epsilon})
};

/// forward(x, target, variance): (log variance + (x - target)^2 / variance) / 2; the variance broadcasts to x.
struct GaussianNllLoss {
  bool full = false;      // includes the constant log(2 pi) / 2
  double epsilon = 1e-6;  // the smallest variance
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(GaussianNllLoss, gaussian_nll_loss, GaussianNllOptions{full, epsilon})
};

/// The squared difference of the Gram matrices of x and target [batch, channels, sizes...], which measures style.
struct GramMatrixLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(GramMatrixLoss, gram_matrix_loss)
};

}  // namespace kiln::nn
