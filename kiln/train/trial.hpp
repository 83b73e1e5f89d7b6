// Short trainings of copies, before a long one: which learning rate, and whether a model can learn at all.
//
//   const FoundRate found = find_rate(model, AdamConfig{}.init(model), step, loader);
//   learner.rate(found.suggested());
//
//   const Overfit one = overfit(model, AdamConfig{}.init(model), step, loader, {.steps = 200, .rate = 1e-2});
//   print("{} -> {}\n", one.losses.front(), one.losses.back());     // should come near its minimum
//
// Model and optimizer are values, so the caller's are unchanged.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/data/first_batches.hpp"
#include "kiln/train/learner.hpp"

namespace kiln {

/// A range test of learning rates (Smith, "Cyclical learning rates for training neural networks", 2017): the rate grows
/// by the same factor in each step.
struct RateFinderConfig {
  double least = 1e-7, greatest = 1;
  std::int64_t steps = 100;
  double smoothing = 0.9;  // of the exponential average of losses, 0 to below 1
  double diverges = 4;     // ends when the average loss is this many times its minimum; must be above 1
  std::uint64_t seed = 0;  // of what the model draws

  /// Throws ArgumentError.
  void check() const;
  /// The rate of step `step`, from 0.
  double at(std::int64_t step) const;
};

/// The findings of a range test's steps.
struct FoundRate {
  std::vector<double> rates, losses;  // of each step; a last loss may be infinite or NaN
  std::vector<double> smoothed;       // the averages, without the bias of their beginning
  std::optional<double> rate{};       // suggested; none if the loss never fell

  /// The suggested rate. Throws DataError, which says what the test saw, if there is none.
  double suggested() const;
};

namespace training {

/// The rate at which the average loss falls most steeply over the logarithm of the rate, before its minimum. The first
/// tenth of the steps is left out.
std::optional<double> steepest(const std::vector<double>& rates, const std::vector<double>& smoothed);

/// The callback of find_rate().
class RateTest {
 public:
  RateTest(const RateFinderConfig& config, std::shared_ptr<FoundRate> found)
      : config_(config), found_(std::move(found)) {}
  void on(const Step& step, Interrupter& control);

 private:
  RateFinderConfig config_;
  std::shared_ptr<FoundRate> found_;
  double average_ = 0, decay_ = 1;
};

/// Notes the loss of each step.
struct LossList {
  std::shared_ptr<std::vector<double>> losses = std::make_shared<std::vector<double>>();
  void on(const Step& step) { losses->push_back(step.loss); }
};

}  // namespace training

/// Trains a copy with rates from least to greatest, over as many epochs as this takes, until the loss diverges. The
/// data should be shuffled. Throws ArgumentError for an invalid configuration, and what a training throws.
template <Module M, class O, class F, class Data>
FoundRate find_rate(M model, O optimizer, F step, Data&& data, const RateFinderConfig& config = {}) {
  config.check();
  const auto found = std::make_shared<FoundRate>();
  Learner learner(std::move(model), std::move(optimizer), std::move(step),
                  {.steps = config.steps, .not_finite = NotFinite::Ignore, .seed = config.seed});
  learner.schedule(config).add(training::RateTest(config, found)).fit(data);
  found->rate = training::steepest(found->rates, found->smoothed);
  return *found;
}

struct OverfitConfig {
  std::int64_t batches = 1;  // that are learned by heart
  std::int64_t steps = 100;
  double rate = 1e-3;
  std::uint64_t seed = 0;

  /// Throws ArgumentError.
  void check() const;
};

template <class M>
struct Overfit {
  std::vector<double> losses;  // of each step
  M model;                     // trained
};

/// Trains a copy on the first batches of the data alone, again and again. A model, a loss and an optimizer that fit
/// together bring the loss near its minimum; where it stays, one of them is wrong. Throws ArgumentError for an invalid
/// configuration, and what a training throws.
template <Module M, class O, class F, class Data>
Overfit<M> overfit(M model, O optimizer, F step, Data&& data, const OverfitConfig& config = {}) {
  config.check();
  using Batch = typename training::SignatureOf<F>::Batch;
  const std::vector<Batch> batches = first_batches(data, config.batches);
  const training::LossList losses;
  Learner learner(std::move(model), std::move(optimizer), std::move(step),
                  {.steps = config.steps, .seed = config.seed});
  learner.rate(config.rate).add(losses).fit(batches);
  return {*losses.losses, learner.model()};
}

}  // namespace kiln
