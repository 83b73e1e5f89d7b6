// Ends a training where a metric no longer gets better.
#pragma once
#include <functional>
#include <string>

#include "kiln/train/events.hpp"

namespace kiln {

/// A callback of a Learner.
struct EarlyStopping {
  std::string metric = "loss", split = "valid";
  bool rising = false;        // the metric is to rise, as an accuracy
  std::int64_t patience = 5;  // ends after so many evaluations in a row that were no better than the best; 0 as 1
  std::int64_t warmup = 0;    // the first evaluations that do not count
  double least_change = 0;    // better by no more than this is not better
  /// A rule of one's own beside that: ends where it is true of the metric's value.
  std::function<bool(double value)> when{};

  struct State {
    double best = 0;
    std::int64_t seen = 0, worse = 0;  // evaluations; since the best
    bool met = false;                  // `when` was true
  };
  State state{};

  /// Throws ArgumentError for what makes no sense.
  void check() const;
  /// A training that had ended so ends at once when it is resumed. Throws ArgumentError where a Learner will not measure
  /// this metric.
  void on(const training::Begin& begin, Interrupter& control);
  /// Throws ArgumentError where the evaluation has no such metric. A value that is no number is no better than any.
  void on(const training::Evaluation& evaluation, Interrupter& control);
};

}  // namespace kiln
