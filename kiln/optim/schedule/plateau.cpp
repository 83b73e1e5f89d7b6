#include "kiln/optim/schedule/plateau.hpp"

#include <algorithm>
#include <limits>

#include "kiln/optim/schedule/schedule.hpp"

namespace kiln {

void ReduceOnPlateauConfig::check() const {
  constexpr std::string_view kName = "ReduceOnPlateau";
  schedules::require_rates_above_zero(kName, {{"initial", initial}});
  schedules::require_rates(kName, {{"threshold", threshold}, {"floor", floor}, {"least_change", least_change}});
  require<ArgumentError>(factor >= 0 && factor < 1, "ReduceOnPlateauConfig: factor = ", factor, " must lie in [0, 1)");
  schedules::require_count(kName, "patience", patience, 0);
  schedules::require_count(kName, "cooldown", cooldown, 0);
}

ReduceOnPlateau ReduceOnPlateauConfig::init() const { return ReduceOnPlateau(*this); }

ReduceOnPlateau::ReduceOnPlateau(const ReduceOnPlateauConfig& config)
    : config_(config),
      rate_(config.initial),
      best_(config.rising ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()) {
  config_.check();
}

double ReduceOnPlateau::observe(double metric) {
  const double change = config_.rising ? config_.threshold : -config_.threshold;
  const double mark = config_.absolute ? best_ + change : best_ * (1 + change);
  if (config_.rising ? metric > mark : metric < mark) {
    best_ = metric;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (bad_ > config_.patience) {
    const double lower = std::max(rate_ * config_.factor, config_.floor);
    if (rate_ - lower > config_.least_change) rate_ = lower;
    cooling_ = config_.cooldown;
    bad_ = 0;
  }
  return rate_;
}

}  // namespace kiln
