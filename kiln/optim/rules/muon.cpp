#include "kiln/optim/rules/muon.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/ops/create/create.hpp"

namespace kiln {
namespace {

/// Runs `count` iterations on a long matrix at once: each multiplies x by p = a + b xxᵀ + c (xxᵀ)², which commutes with
/// xxᵀ and all later p. So the iterations only need xxᵀ, which is small, and x is multiplied by their product at the
/// end. The rounding error of xxᵀ grows by a² with each iteration, but small singular values only by a: after a few,
/// xxᵀ must be computed again.
Value through_gram(const MuonConfig& config, const Value& x, std::int64_t count) {
  const auto [a, b, c] = config.coefficients;
  const Value scaled_identity = eye({x.dim(0), x.dim(0)}, x.device(), x.dtype()) * a;
  Value gram = matmul(x, transpose(x)), product;
  for (std::int64_t i = 0; i < count; ++i) {
    const Value p = scaled_identity + gram * b + matmul(gram, gram) * c;
    product = i ? matmul(p, product) : p;
    if (i + 1 < count) gram = matmul(matmul(p, gram), p);
  }
  return matmul(product, x);
}

/// Brings the singular values of x near 1 by repeating x (a + b xᵀx + c (xᵀx)²).
Value orthogonalised(const MuonConfig& config, const Value& matrix) {
  // Length / width from which Gram matrices need fewer operations; iterations.
  constexpr std::int64_t kLong = 3, kAtOnce = 3;
  const auto [a, b, c] = config.coefficients;
  const bool tall = matrix.dim(0) > matrix.dim(1);  // the smaller product costs less
  Value x = tall ? transpose(matrix) : matrix;
  const bool is_long = x.dim(1) >= kLong * x.dim(0);
  x = x / maximum(rules::norm(matrix), config.epsilon);
  for (std::int64_t left = config.iterations; left > 0;) {
    const std::int64_t count = is_long ? std::min(left, kAtOnce) : 1;
    left -= count;
    if (count > 1) {
      x = through_gram(config, x, count);
      continue;
    }
    const Value gram = matmul(x, transpose(x));
    x = x * a + matmul(gram * b + matmul(gram, gram) * c, x);
  }
  return tall ? transpose(x) : x;
}

double scale_of(MuonConfig::Scale scale, double rows, double columns) {
  switch (scale) {
    case MuonConfig::Scale::Original: return std::sqrt(std::max(1.0, rows / columns));
    case MuonConfig::Scale::MatchAdamW: return 0.2 * std::sqrt(std::max(rows, columns));
    case MuonConfig::Scale::Spectral: return std::sqrt(rows / columns);
  }
  return 1;
}

}  // namespace

std::span<const std::string_view> MuonConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"first_moment"};
  return kNames;
}

Values MuonConfig::fresh_slots(const Value& param) const {
  (void)rules::as_matrix(kName, param);  // throws for a parameter that is no matrix
  return {zeros_like(param)};
}

void MuonConfig::check() const {
  rules::require_shares(kName, {{"momentum", momentum}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}});
  require<ArgumentError>(iterations >= 1 && iterations < 100, "MuonConfig: iterations = ", iterations,
                         " must lie in [1, 99]");
  rules::require_positive(kName, {{"epsilon", epsilon}});
  const auto [a, b, c] = coefficients;
  for (const double singular : {0.1, 0.5, 1.0}) {
    double x = singular;
    for (std::int64_t i = 0; i < iterations; ++i) x *= a + b * x * x + c * x * x * x * x;
    require<ArgumentError>(x > 0 && x < 4, "MuonConfig: coefficients = ", a, ", ", b, ", ", c, " make ", x,
                           " of a singular value of ", singular, ", and not about 1");
  }
}

Value MuonConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Value& m = state.slots[0];
  m = rules::moving_average(m, grad, momentum);
  const Value matrix = rules::as_matrix(kName, nesterov ? rules::moving_average(m, grad, momentum) : m);
  const double factor = rate * scale_of(scale, static_cast<double>(matrix.dim(0)), static_cast<double>(matrix.dim(1)));
  const Value step = reshape(orthogonalised(*this, matrix), param.shape()) * factor;
  return (weight_decay != 0 ? param * (1 - rate * weight_decay) : param) - step;
}

}  // namespace kiln
