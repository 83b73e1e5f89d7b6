#include "kiln/optim/schedule.hpp"

#include <cmath>
#include <numbers>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

/// How far `step` is on the way of `count` steps, in [0, 1].
double progress(std::int64_t step, std::int64_t count) {
  return step >= count ? 1.0 : static_cast<double>(step) / static_cast<double>(count);
}

}  // namespace

double ConstantConfig::at(std::int64_t) const { return rate; }

double CosineConfig::at(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double way = progress(step - warmup, steps - warmup);
  return floor + (peak - floor) * (1 + std::cos(std::numbers::pi * way)) / 2;
}

double StepConfig::at(std::int64_t step) const { return initial * std::pow(factor, static_cast<double>(step / every)); }

double LinearRateConfig::at(std::int64_t step) const { return initial + (final - initial) * progress(step, steps); }

Schedule<ConstantConfig> ConstantConfig::init() const { return {*this}; }

Schedule<CosineConfig> CosineConfig::init() const {
  require<ArgumentError>(0 <= warmup && warmup < steps, "CosineConfig: warmup = ", warmup,
                         " must be at least 0 and below steps = ", steps);
  return {*this};
}

Schedule<StepConfig> StepConfig::init() const {
  require<ArgumentError>(every > 0, "StepConfig: every = ", every, " must be positive");
  return {*this};
}

Schedule<LinearRateConfig> LinearRateConfig::init() const {
  require<ArgumentError>(steps > 0, "LinearRateConfig: steps = ", steps, " must be positive");
  return {*this};
}

}  // namespace kiln
