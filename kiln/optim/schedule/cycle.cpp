#include "kiln/optim/schedule/cycle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln {

using schedules::cosine;
using schedules::line;
using schedules::progress;
using schedules::require_count;
using schedules::require_rates;
using schedules::require_rates_above_zero;

namespace {

double warming_up(double peak, std::int64_t step, std::int64_t warmup) {
  return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
}

}  // namespace

double CosineConfig::at(std::int64_t step) const {
  check();
  if (step < warmup) return warming_up(peak, step, warmup);
  return cosine(peak, floor, progress(step - warmup, steps - warmup));
}

double CosineRestartsConfig::at(std::int64_t step) const {
  check();
  std::int64_t length = period;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (growth == 1) step %= length;
  else
    for (; step >= length; length = length > kMost / growth ? kMost : length * growth) step -= length;
  return cosine(peak, floor, progress(step, length));
}

double WarmupStableDecayConfig::at(std::int64_t step) const {
  check();
  if (step < warmup) return warming_up(peak, step, warmup);
  const double way = progress(std::max<std::int64_t>(step - warmup - stable, 0), decay);
  switch (shape) {
    case Shape::Linear: return line(peak, floor, way);
    case Shape::Cosine: return cosine(peak, floor, way);
    case Shape::InverseRoot: return line(peak, floor, std::sqrt(way));
  }
  return floor;
}

double OneCycleConfig::at(std::int64_t step) const {
  check();
  const double start = peak / start_divisor, end = start / end_divisor, last = static_cast<double>(steps - 1);
  const double top = rise * static_cast<double>(steps) - 1, back = three_phases ? 2 * top : last;
  const double t = std::min(static_cast<double>(step), last);
  const auto between = [&](double a, double b, double way) { return linear ? line(a, b, way) : cosine(a, b, way); };
  if (t <= top) return between(start, peak, top > 0 ? t / top : 1);
  if (t <= back) return between(peak, three_phases ? start : end, (t - top) / (back - top));
  return between(start, end, (t - back) / (last - back));
}

double CyclicConfig::at(std::int64_t step) const {
  check();
  const std::int64_t fall = down == 0 ? up : down, period = up + fall, cycle = step / period, place = step % period;
  const double way = place <= up ? progress(place, up) : 1 - progress(place - up, fall);
  double share = 1;
  if (mode == Mode::Halving) share = std::pow(0.5, static_cast<double>(cycle));
  if (mode == Mode::Exponential) share = std::pow(factor, static_cast<double>(step));
  return floor + (peak - floor) * way * share;
}

void CosineConfig::check() const {
  require_rates_above_zero(kName, {{"peak", peak}});
  require_rates(kName, {{"floor", floor}});
  require<ArgumentError>(0 <= warmup && warmup < steps, "CosineConfig: warmup = ", warmup,
                         " must be at least 0 and below steps = ", steps);
}

void CosineRestartsConfig::check() const {
  require_rates_above_zero(kName, {{"peak", peak}});
  require_rates(kName, {{"floor", floor}});
  require_count(kName, "period", period);
  require_count(kName, "growth", growth);
}

void WarmupStableDecayConfig::check() const {
  require_rates_above_zero(kName, {{"peak", peak}});
  require_rates(kName, {{"floor", floor}});
  require_count(kName, "warmup", warmup, 0);
  require_count(kName, "stable", stable, 0);
  require_count(kName, "decay", decay);
}

void OneCycleConfig::check() const {
  require_rates_above_zero(kName, {{"peak", peak}});
  require_count(kName, "steps", steps, 2);
  const double most = three_phases ? 0.5 : 1;
  require<ArgumentError>(rise > 0 && rise < most, "OneCycleConfig: rise = ", rise, " must lie in (0, ", most, ")");
  require<ArgumentError>(start_divisor >= 1 && end_divisor >= 1, "OneCycleConfig: start_divisor = ", start_divisor,
                         " and end_divisor = ", end_divisor, " must be at least 1");
  require_rates(kName, {{"start_divisor", start_divisor}, {"end_divisor", end_divisor}});
}

void CyclicConfig::check() const {
  require_rates(kName, {{"floor", floor}});
  require_rates_above_zero(kName, {{"peak", peak}});
  require<ArgumentError>(floor <= peak, "CyclicConfig: floor = ", floor, " is above peak = ", peak);
  require_count(kName, "up", up);
  require_count(kName, "down", down, 0);
  require<ArgumentError>(factor > 0 && factor <= 1, "CyclicConfig: factor = ", factor, " must lie in (0, 1]");
}

#define KILN_INIT(Config) \
  Schedule<Config> Config::init() const { return check(), Schedule<Config>{*this}; }
KILN_INIT(CosineConfig)
KILN_INIT(CosineRestartsConfig)
KILN_INIT(WarmupStableDecayConfig)
KILN_INIT(OneCycleConfig)
KILN_INIT(CyclicConfig)
#undef KILN_INIT

}  // namespace kiln
