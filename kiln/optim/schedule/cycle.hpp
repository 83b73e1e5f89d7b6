// Rates that first rise, or rise repeatedly.
#pragma once
#include "kiln/optim/schedule/schedule.hpp"

namespace kiln {

/// Rises from peak / warmup in `warmup` steps, then falls to `floor` along half a cosine, which ends after `steps`
/// steps in all; `floor` is kept (Loshchilov, Hutter, "SGDR", 2017, without restarts).
struct CosineConfig {
  static constexpr std::string_view kName = "Cosine";
  double peak = 1e-3;
  std::int64_t warmup = 0, steps;
  double floor = 0;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // 0 <= warmup < steps
  Schedule<CosineConfig> init() const;
};

/// Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017: falls from `peak` to `floor` along
/// half a cosine in `period` steps, then again from `peak` in `growth` times as many, and so on.
struct CosineRestartsConfig {
  static constexpr std::string_view kName = "CosineRestarts";
  double peak = 1e-3;
  std::int64_t period, growth = 1;
  double floor = 0;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // both are positive
  Schedule<CosineRestartsConfig> init() const;
};

/// Rises linearly in `warmup` steps, like CosineConfig; keeps `peak` for `stable` steps; falls to `floor` in `decay`
/// steps, and keeps it (Hu et al., "MiniCPM", 2024). InverseRoot: peak - (peak - floor) sqrt(progress) (Hägele et al.,
/// "Scaling laws and compute-optimal training beyond fixed training durations", 2024).
struct WarmupStableDecayConfig {
  static constexpr std::string_view kName = "WarmupStableDecay";
  enum class Shape : std::uint8_t { Linear, Cosine, InverseRoot };
  double peak = 1e-3;
  std::int64_t warmup = 0, stable, decay;
  double floor = 0;
  Shape shape = Shape::Linear;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // none is negative, and `decay` is positive
  Schedule<WarmupStableDecayConfig> init() const;
};

/// Smith, Topin, "Super-convergence", 2018, in PyTorch's form: rises from peak / start_divisor to `peak` in the
/// fraction `rise` of `steps` steps, then falls to peak / start_divisor / end_divisor; or, in three phases, first falls
/// back to its start in as many steps as it rose, and then on. The last rate is kept.
struct OneCycleConfig {
  static constexpr std::string_view kName = "OneCycle";
  double peak = 1e-3;
  std::int64_t steps;
  double rise = 0.3, start_divisor = 25, end_divisor = 1e4;
  bool linear = false;  // linear rather than along cosines
  bool three_phases = false;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // steps >= 2, `rise` lies in (0, 1), in three phases below 1/2; divisors are at least 1
  Schedule<OneCycleConfig> init() const;
};

/// Smith, "Cyclical learning rates for training neural networks", 2017: rises from `floor` to `peak` in `up` steps,
/// falls in `down` (0: as many), and repeats. The difference stays the same (Triangular), is halved in each cycle
/// (Halving), or is multiplied by factor^step (Exponential).
struct CyclicConfig {
  static constexpr std::string_view kName = "Cyclic";
  enum class Mode : std::uint8_t { Triangular, Halving, Exponential };
  double floor = 0, peak = 1e-3;
  std::int64_t up, down = 0;
  Mode mode = Mode::Triangular;
  double factor = 1;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // floor <= peak, `up` is positive, `factor` lies in (0, 1]
  Schedule<CyclicConfig> init() const;
};

}  // namespace kiln
