// A rate that falls when training stops improving.
//
//   ReduceOnPlateau plateau = ReduceOnPlateauConfig{.initial = 1e-3}.init();
//   for (int epoch = 0; epoch < epochs; ++epoch) plateau.observe(train_epoch(plateau.rate()));
#pragma once
#include "kiln/core/error/error.hpp"
#include "kiln/optim/number.hpp"

namespace kiln {

class ReduceOnPlateau;

/// Like PyTorch's ReduceLROnPlateau: the rate is multiplied by `factor`, but not below `floor`, once more than
/// `patience` metrics in a row were not better than the best by `threshold`, relative to it or, if `absolute`, as a
/// difference; for `cooldown` metrics after that none counts as bad. Changes below `least_change` are not made.
struct ReduceOnPlateauConfig {
  double initial = 1e-3, factor = 0.1;
  std::int64_t patience = 10, cooldown = 0;
  double threshold = 1e-4, floor = 0, least_change = 1e-8;
  bool rising = false;  // the metric should rise, like an accuracy
  bool absolute = false;

  void check() const;  // throws ArgumentError for invalid options
  ReduceOnPlateau init() const;
};

class [[nodiscard("a schedule says rates: it sets none")]] ReduceOnPlateau {
 public:
  explicit ReduceOnPlateau(const ReduceOnPlateauConfig& config);

  double rate() const { return rate_; }
  /// Takes a result of training, such as a loss; returns the rate from now on. NaN is never an improvement.
  double observe(double metric);

  const ReduceOnPlateauConfig& config() const { return config_; }

  /// Calls f(name, part) for the parts of a record: numbers as Value& of rank 0, counts as std::int64_t&.
  template <class F>
  void visit_state(F&& f) {
    visit_number(f, "rate", rate_);
    visit_number(f, "best", best_);
    f(std::string("bad"), bad_);
    f(std::string("cooling"), cooling_);
  }
  template <class F>
  void visit_state(F&& f) const {
    visit_number(f, "rate", rate_);
    visit_number(f, "best", best_);
    f(std::string("bad"), bad_);
    f(std::string("cooling"), cooling_);
  }

 private:
  ReduceOnPlateauConfig config_;
  double rate_, best_;
  std::int64_t bad_ = 0, cooling_ = 0;
};

}  // namespace kiln
