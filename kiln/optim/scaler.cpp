#include "kiln/optim/scaler.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

constexpr std::int64_t kLeast = -126, kMost = 127;  // 2^kMost is the largest power of two in float32

/// Reads one number from the device, however many gradients there are.
bool all_finite(const GradientsParams& grads) {
  Value finite;
  for (const auto& [path, grad] : grads.by_path) {
    const Value own = all(is_finite(grad));
    finite = finite ? logical_and(finite, own) : own;
  }
  return !finite || finite.item() != 0;
}

}  // namespace

GradientScaler GradientScalerConfig::init() const { return GradientScaler(*this); }

void GradientScalerConfig::check() const {
  require<ArgumentError>(kLeast <= exponent && exponent <= kMost, "GradientScalerConfig: exponent = ", exponent,
                         " must lie in [", kLeast, ", ", kMost, "]");
  require<ArgumentError>(interval >= 1, "GradientScalerConfig: interval = ", interval, " must be positive");
}

GradientScaler::GradientScaler(const GradientScalerConfig& config) : config_(config), exponent_(config.exponent) {
  config_.check();
}

double GradientScaler::scale() const { return std::ldexp(1.0, static_cast<int>(exponent_)); }

Tensor<0> GradientScaler::scale(const Tensor<0>& loss) const { return Typed{cast(loss.value(), DType::F32) * scale()}; }

GradientsParams GradientScaler::unscale(GradientsParams grads) {
  if (grads.by_path.empty()) return grads;
  if (!unscale(grads, [](bool finite) { return finite; })) return {};
  return grads;
}

bool GradientScaler::unscale(GradientsParams& grads, FunctionRef<bool(bool here)> everywhere) {
  const NoGrad pause;
  const double share = 1 / scale();
  for (auto& [path, grad] : grads.by_path) grad = cast(grad, promote(grad.dtype(), DType::F32)) * share;
  if (!everywhere(all_finite(grads))) {
    exponent_ = std::max(exponent_ - 1, kLeast);
    steps_ = 0;
    return false;
  }
  if (++steps_ == config_.interval) {
    exponent_ = std::min(exponent_ + 1, kMost);
    steps_ = 0;
  }
  return true;
}

}  // namespace kiln
