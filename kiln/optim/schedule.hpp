// Learning rates that change as training goes on. A schedule is a small value: its options and the step it has reached.
#pragma once
#include <cstdint>

namespace kiln {

template <class Config>
struct Schedule {
  Config config;
  std::int64_t step = 0;  // the one that next() will answer for; kept to go on where a training was

  /// The rate of this step; moves on to the next.
  double next() { return config.at(step++); }
};

/// The same rate for ever.
struct ConstantConfig {
  double rate = 1e-3;
  double at(std::int64_t step) const;
  Schedule<ConstantConfig> init() const;
};

/// Up from peak / warmup in `warmup` steps, then down to `floor` along half a cosine, which it reaches after `steps`
/// steps in all and keeps (Loshchilov, Hutter, "SGDR", 2017, without restarts).
struct CosineConfig {
  double peak = 1e-3;
  std::int64_t warmup = 0, steps;
  double floor = 0;
  double at(std::int64_t step) const;
  Schedule<CosineConfig> init() const;  // throws ArgumentError unless 0 <= warmup < steps
};

/// `initial`, times `factor` after every `every` steps.
struct StepConfig {
  double initial = 1e-3;
  std::int64_t every;
  double factor = 0.1;
  double at(std::int64_t step) const;
  Schedule<StepConfig> init() const;  // throws ArgumentError for `every` below 1
};

/// From `initial` to `final` in a straight line over `steps` steps, then `final`.
struct LinearRateConfig {
  double initial = 1e-3, final = 0;
  std::int64_t steps;
  double at(std::int64_t step) const;
  Schedule<LinearRateConfig> init() const;  // throws ArgumentError for `steps` below 1
};

}  // namespace kiln
