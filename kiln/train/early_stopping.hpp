// Ends training when a metric stops improving.
#pragma once
#include <functional>
#include <string>

#include "kiln/train/events.hpp"

namespace kiln {

/// A callback of a Learner.
struct EarlyStopping {
  std::string metric = "loss", split = "valid";
  bool rising = false;        // should the metric rise, like an accuracy?
  std::int64_t patience = 5;  // ends after this many evaluations in a row without improvement; 0 as 1
  std::int64_t warmup = 0;    // the first evaluations, which are ignored
  double least_change = 0;    // smaller changes are no improvement
  /// A custom rule in addition: ends if it returns true for the metric's value.
  std::function<bool(double value)> when{};

  struct State {
    double best = 0;
    std::int64_t seen = 0, worse = 0;  // evaluations; those since the best
    bool met = false;                  // has `when` returned true?
  };
  State state{};

  /// Throws ArgumentError for invalid options.
  void check() const;
  /// A resumed training run that had ended by this ends at once. Throws ArgumentError if a Learner will not measure
  /// this metric.
  void on(const training::Begin& begin, Interrupter& control);
  /// Throws ArgumentError if the evaluation does not have the metric. NaN is never an improvement.
  void on(const training::Evaluation& evaluation, Interrupter& control);
};

}  // namespace kiln
