#include "kiln/ops/loss/loss.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/linalg/length.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/loss/check.hpp"

namespace kiln {

Value reduced(const Value& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::None: return losses;
    case Reduction::Mean: return mean(losses);
    case Reduction::Sum: return sum(losses);
    case Reduction::BatchMean: return losses.rank() == 0 ? losses : sum(losses) / static_cast<double>(losses.dim(0));
  }
  return {};
}

// ---- numbers --------------------------------------------------------------------------------------------------------

Value mse_loss(const Value& x, const Value& target, Reduction reduction) {
  require_alike("mse_loss", x, target);
  return reduced(square(x - target), reduction);
}

Value l1_loss(const Value& x, const Value& target, Reduction reduction) {
  require_alike("l1_loss", x, target);
  return reduced(abs(x - target), reduction);
}

Value lp_loss(const Value& x, const Value& target, double p, Reduction reduction) {
  require_alike("lp_loss", x, target);
  require<ArgumentError>(p > 0, "lp_loss: p must be positive, got ", p);
  if (p == 1) return l1_loss(x, target, reduction);
  if (p == 2) return mse_loss(x, target, reduction);
  return reduced(power_of_size(x - target, p), reduction);
}

Value smooth_l1_loss(const Value& x, const Value& target, double beta, Reduction reduction) {
  require_alike("smooth_l1_loss", x, target);
  require_not_negative("smooth_l1_loss", "beta", beta);
  return beta == 0 ? l1_loss(x, target, reduction) : reduced(smooth_l1(x - target, beta), reduction);
}

Value huber_loss(const Value& x, const Value& target, double delta, Reduction reduction) {
  require_alike("huber_loss", x, target);
  require<ArgumentError>(delta > 0, "huber_loss: delta must be positive, got ", delta);
  if (std::isinf(delta)) return reduced(square(x - target) * 0.5, reduction);
  const Value distance = abs(x - target);
  const Value near = minimum(distance, delta);
  return reduced(where(lt(distance, delta), square(near) * 0.5, (distance - delta / 2) * delta), reduction);
}

// ---- distributions --------------------------------------------------------------------------------------------------

Value kl_div(const Value& log_probabilities, const Value& target, bool log_target, Reduction reduction) {
  require_alike("kl_div", log_probabilities, target);
  if (log_target) {
    const Value never = eq(target, -kInfinity);  // 0 (log 0 - x) = 0
    return reduced(exp(target) * where(never, 0.0, where(never, 0.0, target) - log_probabilities), reduction);
  }
  const Value none = eq(target, 0);  // 0 log 0 = 0
  const Value entropy = where(none, 0.0, target * log(where(none, 1.0, target)));
  return reduced(entropy - weighed(target, log_probabilities), reduction);
}

Value poisson_nll_loss(const Value& x, const Value& target, const PoissonNllOptions& options, Reduction reduction) {
  require_alike("poisson_nll_loss", x, target);
  const Value t = cast(target, x.dtype());
  Value losses;
  if (options.log_input) {
    const Value rate = exp(x), more = weighed(t, x);  // 0 times a logarithm of 0 is 0, and powers outgrow logarithms
    losses = where(eq(rate, kInfinity), rate, rate - where(eq(rate, kInfinity), 0.0, more));
  } else {
    const Value endless = eq(x, kInfinity);
    losses = where(endless, x, x - t * log(where(endless, 1.0, x) + options.epsilon));
  }
  if (options.full) {
    const Value many = gt(t, 1), safe = where(many, t, 1.0);
    losses = losses + where(many, safe * log(safe) - safe + log(safe * (2 * std::numbers::pi)) * 0.5, 0.0);
  }
  return reduced(losses, reduction);
}

Value gaussian_nll_loss(const Value& x, const Value& target, const Value& variance, const GaussianNllOptions& options,
                        Reduction reduction) {
  require_alike("gaussian_nll_loss", x, target);
  op::require_float("gaussian_nll_loss", variance);
  require<ShapeError>(broadcast("gaussian_nll_loss", x.shape(), variance.shape()) == x.shape(),
                      "gaussian_nll_loss: variance ", variance.shape(), " does not broadcast to ", x.shape());
  const Value bounded = maximum(variance, options.epsilon);
  // The square may leave the range of the type where its quotient by the variance does not.
  const Value apart = x - target, far = is_inf(square(apart.detach()));
  const Value share = where(far, apart * (apart / bounded), square(where(far, 0.0, apart)) / bounded);
  const Value losses = (log(bounded) + share) * 0.5;
  return reduced(options.full ? losses + 0.5 * std::log(2 * std::numbers::pi) : losses, reduction);
}

// ---- similarity -----------------------------------------------------------------------------------------------------

Value hinge_embedding_loss(const Value& x, const Value& y, double margin, Reduction reduction) {
  require_alike("hinge_embedding_loss", x, y);
  return reduced(where(gt(y, 0), x, relu(margin - x)), reduction);
}

Value margin_ranking_loss(const Value& a, const Value& b, const Value& y, double margin, Reduction reduction) {
  require_alike("margin_ranking_loss", a, b);
  require_alike("margin_ranking_loss", a, y);
  return reduced(relu(margin - cast(y, a.dtype()) * (a - b)), reduction);
}

Value soft_margin_loss(const Value& x, const Value& y, Reduction reduction) {
  require_alike("soft_margin_loss", x, y);
  return reduced(softplus(neg(cast(y, x.dtype()) * x)), reduction);
}

Value triplet_margin_loss(const Value& anchor, const Value& positive, const Value& negative,
                          const TripletMarginOptions& options, Reduction reduction) {
  constexpr std::string_view name = "triplet_margin_loss";
  require_alike(name, anchor, positive);
  require_alike(name, anchor, negative);
  require<ShapeError>(anchor.rank() >= 1, name, ": needs [..., width], got ", anchor.shape());
  require<ArgumentError>(options.p > 0, name, ": p must be positive, got ", options.p);
  const auto distance = [&](const Value& a, const Value& b) {
    return vector_norm(a - b + options.epsilon, options.p, {-1});
  };
  Value far = distance(anchor, negative);
  if (options.swap) far = minimum(far, distance(positive, negative));
  return reduced(relu(distance(anchor, positive) - far + options.margin), reduction);
}

Value cosine_embedding_loss(const Value& a, const Value& b, const Value& y, double margin, Reduction reduction) {
  constexpr std::string_view name = "cosine_embedding_loss";
  require_alike(name, a, b);
  op::require_tensor(name, y);
  require<ShapeError>(a.rank() == 2 && y.shape() == Shape{a.dim(0)}, name, ": needs a and b [batch, width] and y ",
                      "[batch], got ", a.shape(), " and ", y.shape());
  constexpr double epsilon = 1e-12;  // makes a vector of zeros orthogonal to all
  const ScaledIntoRange first = scale_into_range(a, {1}, 4),
                        second = scale_into_range(b, {1}, 4);  // the code computes products of two squares
  const auto squares = [&](const ScaledIntoRange& of) {
    const Value total = sum(square(of.x), {1});
    return total + square(factor_beside(total, of.factor)) * epsilon;
  };
  const Value cosine = sum(first.x * second.x, {1}) * rsqrt(squares(first) * squares(second));
  return reduced(where(gt(y, 0), 1 - cosine, relu(cosine - margin)), reduction);
}

// ---- style ----------------------------------------------------------------------------------------------------------

Value gram_matrix(const Value& x) {
  op::require_float("gram_matrix", x);
  require<ShapeError>(x.rank() >= 2, "gram_matrix: needs [batch, channels, sizes...], got ", x.shape());
  const std::int64_t batch = x.dim(0), channels = x.dim(1),
                     elements = batch && channels ? x.numel() / batch / channels : 0;
  const Value rows = reshape(x, {batch, channels, elements});
  return matmul(rows, transpose(rows)) / static_cast<double>(channels * elements);
}

Value gram_matrix_loss(const Value& x, const Value& target, Reduction reduction) {
  return mse_loss(gram_matrix(x), gram_matrix(target), reduction);
}

}  // namespace kiln
