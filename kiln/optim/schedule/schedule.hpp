// Learning rates that change as training goes on. The config of a schedule says by at(step) what the rate of any step
// is, counted from 0; a Schedule is a config and the step that it has reached, and so a small value that can be saved.
//
//   auto schedule = CosineConfig{.peak = 1e-3, .warmup = 100, .steps = 10000}.init();
//   model = optimizer.step(schedule.next(), std::move(model), grads);
//
// For ReduceOnPlateau, which asks how training goes, see plateau.hpp.
#pragma once
#include <cstdint>
#include <string>

#include "kiln/core/error/error.hpp"

namespace kiln {

template <class Config>
struct [[nodiscard("a schedule says rates: it sets none")]] Schedule {
  Config config;
  std::int64_t step = 0;  // the one that next() will answer for; kept to go on where a training was

  /// The rate of this step, or the rates of a PerGroupConfig; moves on to the next.
  [[nodiscard("next() says a rate: it sets none")]] auto next() { return config.at(step++); }

  /// Calls f(name, part) for what a record holds: the step, a std::int64_t&.
  template <class F>
  void visit_state(F&& f) {
    f(std::string("step"), step);
  }
  template <class F>
  void visit_state(F&& f) const {
    f(std::string("step"), step);
  }
};

namespace schedules {

/// How far `step` is on a way of `count` steps, in [0, 1].
double progress(std::int64_t step, std::int64_t count);
/// From `start` to `end` along half a cosine, for a share of the way in [0, 1].
double cosine(double start, double end, double way);
double line(double start, double end, double way);

/// Throw ArgumentError, a sentence about the config `name`: for a rate that is negative or no number; where the first of rates
/// is not positive; for a count below `least`, or one that leaves no room to add to it.
struct Rate {
  std::string_view name;
  double value;
};
void require_rates(std::string_view config, std::initializer_list<Rate> rates);
void require_rates_above_zero(std::string_view config, std::initializer_list<Rate> rates);
void require_count(std::string_view config, std::string_view name, std::int64_t count, std::int64_t least = 1);

}  // namespace schedules
}  // namespace kiln
