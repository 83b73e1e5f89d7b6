// A rate that falls where training no longer gets better.
//
//   ReduceOnPlateau plateau = ReduceOnPlateauConfig{.initial = 1e-3}.init();
//   for (int epoch = 0; epoch < epochs; ++epoch) plateau.observe(train_epoch(plateau.rate()));
#pragma once
#include "kiln/core/error/error.hpp"
#include "kiln/optim/number.hpp"

namespace kiln {

class ReduceOnPlateau;

/// As PyTorch's ReduceLROnPlateau: the rate is times `factor`, but not below `floor`, once more than `patience` metrics
/// in a row were no better than the best by `threshold`, a share of it, or, `absolute`, a difference; for `cooldown`
/// metrics after that none counts as bad. Changes below `least_change` are not made.
struct ReduceOnPlateauConfig {
  double initial = 1e-3, factor = 0.1;
  std::int64_t patience = 10, cooldown = 0;
  double threshold = 1e-4, floor = 0, least_change = 1e-8;
  bool rising = false;  // the metric is to rise, as an accuracy
  bool absolute = false;

  void check() const;  // throws ArgumentError for options without meaning
  ReduceOnPlateau init() const;
};

class [[nodiscard("a schedule says rates: it sets none")]] ReduceOnPlateau {
 public:
  explicit ReduceOnPlateau(const ReduceOnPlateauConfig& config);

  double rate() const { return rate_; }
  /// What training came to, a loss say; returns the rate from now on. NaN is no better than anything.
  double observe(double metric);

  const ReduceOnPlateauConfig& config() const { return config_; }

  /// Calls f(name, part) for what a record holds: numbers as Value& of rank 0, counts as std::int64_t&.
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
