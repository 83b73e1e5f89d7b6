// Rates that are constant, or fall.
#pragma once
#include <vector>

#include "kiln/optim/schedule/schedule.hpp"

namespace kiln {

/// A constant rate.
struct ConstantConfig {
  static constexpr std::string_view kName = "Constant";
  double rate = 1e-3;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // throws ArgumentError for invalid options, like all of them
  Schedule<ConstantConfig> init() const;
};

/// Goes linearly from `initial` to `final` in `steps` steps, then stays at `final`.
struct LinearRateConfig {
  static constexpr std::string_view kName = "LinearRate";
  double initial = 1e-3, final = 0;
  std::int64_t steps;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // `steps` is positive
  Schedule<LinearRateConfig> init() const;
};

/// `initial`, multiplied by `factor` after every `every` steps.
struct StepConfig {
  static constexpr std::string_view kName = "Step";
  double initial = 1e-3;
  std::int64_t every;
  double factor = 0.1;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // `every` is positive
  Schedule<StepConfig> init() const;
};

/// `initial`, multiplied by `factor` from each of the steps in `milestones` on.
struct MultiStepConfig {
  static constexpr std::string_view kName = "MultiStep";
  double initial = 1e-3;
  std::vector<std::int64_t> milestones;
  double factor = 0.1;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // milestones rise
  Schedule<MultiStepConfig> init() const;
};

/// `initial` * factor^step
struct ExponentialConfig {
  static constexpr std::string_view kName = "Exponential";
  double initial = 1e-3, factor;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // `factor` lies in (0, 1]
  Schedule<ExponentialConfig> init() const;
};

/// `final` + (`initial` - `final`) * (1 - step / steps)^power over `steps` steps, then `final`.
struct PolynomialConfig {
  static constexpr std::string_view kName = "Polynomial";
  double initial = 1e-3, final = 0, power = 1;
  std::int64_t steps;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // `steps` and `power` are positive
  Schedule<PolynomialConfig> init() const;
};

/// Vaswani et al., "Attention is all you need", 2017, section 5.3: factor * width^-0.5 * min(t^-0.5, t * warmup^-1.5)
/// with t = step + 1.
struct NoamConfig {
  static constexpr std::string_view kName = "Noam";
  double factor = 1;
  std::int64_t width, warmup = 4000;
  [[nodiscard("at() says a rate: it sets none")]] double at(std::int64_t step) const;
  void check() const;  // `width` and `warmup` are positive
  Schedule<NoamConfig> init() const;
};

}  // namespace kiln
