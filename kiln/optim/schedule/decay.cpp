#include "kiln/optim/schedule/decay.hpp"

#include <algorithm>
#include <cmath>

namespace kiln {

using schedules::progress;
using schedules::require_count;
using schedules::require_rates;
using schedules::require_rates_above_zero;

namespace {

void require_one_above_zero(std::string_view config, double initial, double final) {
  require<ArgumentError>(initial > 0 || final > 0, config,
                         "Config: of initial = 0 and final = 0 one must be positive: nothing would be learned");
}

}  // namespace

double ConstantConfig::at(std::int64_t) const {
  check();
  return rate;
}

double LinearRateConfig::at(std::int64_t step) const {
  check();
  return schedules::line(initial, final, progress(step, steps));
}

double StepConfig::at(std::int64_t step) const {
  check();
  const std::int64_t passed = step / every;
  return initial * std::pow(factor, static_cast<double>(passed));
}

double MultiStepConfig::at(std::int64_t step) const {
  check();
  const auto passed = std::ranges::count_if(milestones, [&](std::int64_t milestone) { return milestone <= step; });
  return initial * std::pow(factor, static_cast<double>(passed));
}

double ExponentialConfig::at(std::int64_t step) const {
  check();
  return initial * std::pow(factor, static_cast<double>(step));
}

double PolynomialConfig::at(std::int64_t step) const {
  check();
  return final + (initial - final) * std::pow(1 - progress(step, steps), power);
}

double NoamConfig::at(std::int64_t step) const {
  check();
  const double t = static_cast<double>(step) + 1;
  return factor * std::min(1 / std::sqrt(t), t * std::pow(static_cast<double>(warmup), -1.5)) /
         std::sqrt(static_cast<double>(width));
}

void ConstantConfig::check() const { require_rates(kName, {{"rate", rate}}); }

void LinearRateConfig::check() const {
  require_rates(kName, {{"initial", initial}, {"final", final}});
  require_one_above_zero(kName, initial, final);
  require_count(kName, "steps", steps);
}

void StepConfig::check() const {
  require_rates_above_zero(kName, {{"initial", initial}});
  require_rates(kName, {{"factor", factor}});
  require_count(kName, "every", every);
}

void MultiStepConfig::check() const {
  require_rates_above_zero(kName, {{"initial", initial}});
  require_rates(kName, {{"factor", factor}});
  require<ArgumentError>(std::ranges::is_sorted(milestones), "MultiStepConfig: milestones must rise");
  require<ArgumentError>(milestones.empty() || milestones[0] >= 0, "MultiStepConfig: milestones begin with ",
                         milestones.empty() ? 0 : milestones[0], ", they must not be negative");
}

void ExponentialConfig::check() const {
  require_rates_above_zero(kName, {{"initial", initial}});
  require<ArgumentError>(factor > 0 && factor <= 1, "ExponentialConfig: factor = ", factor, " must lie in (0, 1]");
}

void PolynomialConfig::check() const {
  require_rates(kName, {{"initial", initial}, {"final", final}});
  require_one_above_zero(kName, initial, final);
  require_count(kName, "steps", steps);
  require<ArgumentError>(power > 0 && std::isfinite(power), "PolynomialConfig: power = ", power, " must be positive");
}

void NoamConfig::check() const {
  require_rates_above_zero(kName, {{"factor", factor}});
  require_count(kName, "width", width);
  require_count(kName, "warmup", warmup);
}

#define KILN_INIT(Config) \
  Schedule<Config> Config::init() const { return check(), Schedule<Config>{*this}; }
KILN_INIT(ConstantConfig)
KILN_INIT(LinearRateConfig)
KILN_INIT(StepConfig)
KILN_INIT(MultiStepConfig)
KILN_INIT(ExponentialConfig)
KILN_INIT(PolynomialConfig)
KILN_INIT(NoamConfig)
#undef KILN_INIT

}  // namespace kiln
