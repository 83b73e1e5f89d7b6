#include "kiln/optim/rules/soap.hpp"

#include <cmath>

#include "kiln/ops/create/create.hpp"
#include "kiln/ops/linalg/linalg.hpp"

namespace kiln {
namespace {

enum Slot { M, V, Left, Right, LeftBasis, RightBasis };

/// Transforms x to the bases, or back; a side without a basis is unchanged.
Value rotated(const Value& x, const Value& left, const Value& right, bool back) {
  Value y = x;
  if (!left.empty()) y = matmul(back ? left : transpose(left), y);
  if (!right.empty()) y = matmul(y, back ? transpose(right) : right);
  return y;
}

/// The eigenvector of the largest eigenvalue comes first, as after a step of power iteration.
Value eigenvectors(const Value& symmetric) { return flip(eigh(symmetric).v, {-1}); }

}  // namespace

std::span<const std::string_view> SoapConfig::slot_names() const {
  static constexpr std::string_view kNames[] = {"first_moment", "second_moment", "left",
                                                "right",        "left_basis",    "right_basis"};
  return kNames;
}

Values SoapConfig::fresh_slots(const Value& param) const {
  Values slots{zeros_like(param), zeros_like(param), {}, {}, {}, {}};
  if (param.rank() < 2) return slots;
  const Value matrix = rules::as_matrix(kName, param);
  for (const int side : {0, 1}) {
    const std::int64_t size = matrix.dim(side);
    if (size > longest) continue;
    slots[side == 0 ? Left : Right] = zeros({size, size}, param.device(), param.dtype());
    slots[side == 0 ? LeftBasis : RightBasis] = eye({size, size}, param.device(), param.dtype());
  }
  return slots;
}

void SoapConfig::check() const {
  rules::require_shares(kName, {{"beta1", beta1}, {"beta2", beta2}, {"basis_beta", basis_beta}});
  rules::require_not_negative(kName, {{"weight_decay", weight_decay}});
  require<ArgumentError>(every >= 1 && longest >= 1, "SoapConfig: every = ", every, " and longest = ", longest,
                         " must be positive");
  rules::require_positive(kName, {{"epsilon", epsilon}});
}

Value SoapConfig::update(const Value& param, const Value& grad, double rate, ParamState& state) const {
  Values& slots = state.slots;
  const bool matrix = param.rank() >= 2;
  const Value g = matrix ? rules::as_matrix(kName, grad) : grad;
  const auto remember = [&] {
    if (!slots[Left].empty()) slots[Left] = rules::moving_average(slots[Left], matmul(g, transpose(g)), basis_beta);
    if (!slots[Right].empty()) slots[Right] = rules::moving_average(slots[Right], matmul(transpose(g), g), basis_beta);
  };
  if (matrix && state.steps == 0) {
    remember();
    if (!slots[Left].empty()) slots[LeftBasis] = eigenvectors(slots[Left]);
    if (!slots[Right].empty()) slots[RightBasis] = eigenvectors(slots[Right]);
    return param;
  }
  const double t = static_cast<double>(matrix ? state.steps : state.steps + 1);
  const Value &left = slots[LeftBasis], &right = slots[RightBasis];
  const Value seen = rotated(g, left, right, false);
  const Value m = rules::moving_average(matrix ? rules::as_matrix(kName, slots[M]) : slots[M], g, beta1);
  const Value v = rules::moving_average(matrix ? rules::as_matrix(kName, slots[V]) : slots[V], square(seen), beta2);
  const double factor = rate * std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
  const Value step = rotated(rotated(m, left, right, false) / (sqrt(v) + epsilon), left, right, true);
  slots[M] = reshape(m, param.shape());
  slots[V] = reshape(v, param.shape());
  if (matrix) {
    remember();
    if (state.steps % every == 0) {
      if (!slots[Left].empty()) slots[LeftBasis] = qr(matmul(slots[Left], slots[LeftBasis])).q;
      if (!slots[Right].empty()) slots[RightBasis] = qr(matmul(slots[Right], slots[RightBasis])).q;
    }
  }
  const Value moved = param - reshape(step, param.shape()) * factor;
  return weight_decay != 0 ? moved * (1 - rate * weight_decay) : moved;
}

}  // namespace kiln
