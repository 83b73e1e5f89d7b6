#include "kiln/backend/inspect/cancelled.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/ops/composite.hpp"

namespace kiln {
namespace {

double largest(const Value& x) { return x.empty() ? 1 : max(abs(cast(x, DType::F64))).item(); }

/// What a norm's gradient cancels: `x` is [parts, elements], and each part has its own statistics.
double of_norm(const Value& x, bool centred, const Value& weight, double epsilon, const Value& grad, double count,
               std::size_t result) {
  const Value apart = centred ? op::centred(x, {1}) : x;
  const Value inverse = rsqrt(mean(square(apart), {1}, true) + epsilon);
  const double normal = largest(apart * inverse), g = largest(grad);
  if (result == 0) return g * largest(weight) * largest(inverse) * std::max(normal, 1.0);
  return g * (result == 1 ? normal : 1) * std::sqrt(count);
}

}  // namespace

double cancelled(const op::Op& op, Inputs in, std::size_t result) {
  const bool groups = std::holds_alternative<op::GroupNormGrad>(op.is);
  if (!groups && !std::holds_alternative<op::BatchNormGrad>(op.is)) return 0;
  const NoGrad pause;
  const Value x = cast(in[0], DType::F64);
  if (x.numel() == 0) return 0;
  const double count = static_cast<double>(x.numel()) / static_cast<double>(x.dim(1));  // elements of a channel
  if (groups) {
    using Slot = op::GroupNormGrad::Slot;
    const auto& norm = std::get<op::GroupNormGrad>(op.is);
    const Value parts = reshape(x, {x.dim(0) * norm.groups, -1});
    return of_norm(parts, norm.centred, in[Slot::weight], in[Slot::epsilon].scalar().to<double>(), in[Slot::grad],
                   count, result);
  }
  using Slot = op::BatchNormGrad::Slot;
  const Value parts = reshape(transpose(x, 0, 1), {x.dim(1), -1});
  return of_norm(parts, true, in[Slot::weight], in[Slot::epsilon].scalar().to<double>(), in[Slot::grad], count, result);
}

}  // namespace kiln
