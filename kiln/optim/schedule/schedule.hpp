// Learning rates that change during training. The config of a schedule computes the rate of any step, counted from 0,
// by at(step); a Schedule is a config with its current step, and so a small value that can be saved.
//
//   auto schedule = CosineConfig{.peak = 1e-3, .warmup = 100, .steps = 10000}.init();
//   model = optimizer.step(schedule.next(), std::move(model), grads);
//
// ReduceOnPlateau, which observes a metric, is in plateau.hpp.
#pragma once
#include <cstdint>
#include <string>

#include "kiln/core/error/error.hpp"

namespace kiln {

template <class Config>
struct [[nodiscard("a schedule says rates: it sets none")]] Schedule {
  Config config;
  std::int64_t step = 0;  // the next step of next(); saved to resume training

  /// The rate of this step, or the rates of a PerGroupConfig; advances to the next step.
  [[nodiscard("next() says a rate: it sets none")]] auto next() { return config.at(step++); }

  /// Calls f(name, part) for the parts of a record: the step, a std::int64_t&.
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

/// step / count, clamped to [0, 1].
double progress(std::int64_t step, std::int64_t count);
/// A value between `start` and `end` along half a cosine, or a line, for a fraction `way` in [0, 1].
double cosine(double start, double end, double way);
double line(double start, double end, double way);

/// Throws ArgumentError, with the config's `name`, for a rate that is negative or NaN; if the first rate is not
/// positive; for a count below `least`, or one so large that adding to it overflows.
struct Rate {
  std::string_view name;
  double value;
};
void require_rates(std::string_view config, std::initializer_list<Rate> rates);
void require_rates_above_zero(std::string_view config, std::initializer_list<Rate> rates);
void require_count(std::string_view config, std::string_view name, std::int64_t count, std::int64_t least = 1);

}  // namespace schedules
}  // namespace kiln
