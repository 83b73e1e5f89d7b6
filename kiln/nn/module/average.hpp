// The average of a model's weights during training, which often performs better than the weights themselves.
//
//   WeightAverage average = EmaConfig{.decay = 0.999}.init(model);
//   for (...) {
//     model = adam.step(rate, std::move(model), grads);
//     average.update(model);
//   }
//   evaluate(average.apply(model));
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kiln/nn/module.hpp"

namespace kiln {

class WeightAverage;

/// An exponential moving average: average = decay * average + (1 - decay) * weights.
struct EmaConfig {
  double decay = 0.999;
  bool warmup =
      false;  // min(decay, (1 + n) / (10 + n)) in the n-th update, n from 1: the first weights are forgotten soon
  bool buffers = false;  // averages buffers of floats as well; otherwise they are the model's latest

  /// Throws ArgumentError for a decay outside [0, 1): with 1 the average would never change.
  WeightAverage init(const nn::ModuleView& model) const;
};

/// The plain mean of the weights at all updates (Izmailov, Podoprikhin, Garipov, Vetrov, Wilson, "Averaging weights
/// leads to wider optima and better generalization", 2018): one update per epoch is usual. The statistics of batch
/// norms must be recomputed for the averaged model, by passes in Mode::Train, unless `buffers`.
struct SwaConfig {
  bool buffers = false;

  WeightAverage init(const nn::ModuleView& model) const;
};

/// Starts as the weights of the model for which it is created. Averages of halves are kept in float32. Frozen
/// parameters and those that are not floats have no average. It is saved and loaded like an optimizer.
class [[nodiscard("an average changes no model: it is updated, and applied")]] WeightAverage {
 public:
  /// Updates the average with the model's weights. Runs pending operations; if that fails the average is unchanged.
  void update(const nn::ModuleView& model) { update_with(current(model)); }

  /// The model with its weights replaced by the averages. Throws ShapeError for a model of other shapes.
  template <Module M>
  [[nodiscard("apply() changes no model: it returns one")]] M apply(M model) const {
    put_averages(model);
    return model;
  }

  std::int64_t updates() const { return updates_; }

  /// Records visit the state by this; see kiln/store/record.hpp.
  template <class F>
  void visit_state(F&& f) {
    visit_state_of(*this, f);
  }
  template <class F>
  void visit_state(F&& f) const {
    visit_state_of(*this, f);
  }

 private:
  friend struct EmaConfig;
  friend struct SwaConfig;
  using Values = std::map<std::string, Value, std::less<>>;

  struct Rule {
    bool equal = false;
    EmaConfig ema;
  };
  WeightAverage(const Rule& rule, const nn::ModuleView& model);

  bool is_averaged(const nn::AnyLeaf& leaf) const;
  Values current(const nn::ModuleView& model) const;
  void put_averages(const nn::ModuleRef& model) const;

  template <class Self, class F>
  static void visit_state_of(Self& self, F& f) {
    for (auto& [path, average] : self.averages_) f("average." + path, average);
    f(std::string("updates"), self.updates_);
  }

  void update_with(const Values& values);
  double share() const;  // the coefficient of the next weights

  Rule rule_;
  Values averages_;
  std::int64_t updates_ = 0;
};

}  // namespace kiln
