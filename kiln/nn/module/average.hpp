// The average of a model's weights over its training, which often does better than the weights themselves.
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
      false;  // min(decay, (1 + n) / (10 + n)) in the n-th update, n from 1: the first weights are soon forgotten
  bool buffers = false;  // averages buffers of floats as well; otherwise they are the model's

  /// Throws ArgumentError for a decay outside [0, 1): by 1 the average would never move.
  WeightAverage init(const nn::ModuleView& model) const;
};

/// The plain mean of the weights at all updates (Izmailov, Podoprikhin, Garipov, Vetrov, Wilson, "Averaging weights leads
/// to wider optima and better generalization", 2018): one update an epoch is usual. What batch norm knows of the averaged
/// model is to be learned anew, by passes in Mode::Train, unless `buffers`.
struct SwaConfig {
  bool buffers = false;

  WeightAverage init(const nn::ModuleView& model) const;
};

/// Starts as the weights of the model that it is made for. Averages of halves are kept in float32. Frozen parameters and
/// those that are no floats have no average. Saved and loaded as an optimizer is.
class [[nodiscard("an average changes no model: it is updated, and applied")]] WeightAverage {
 public:
  /// Takes the model's weights into the average. Runs what was asked for so far; where that fails the average is as before.
  void update(const nn::ModuleView& model) { update_with(current(model)); }

  /// The model with the averages in the places of its weights.
  template <Module M>
  [[nodiscard("apply() changes no model: it returns one")]] M apply(M model) const {
    put_averages(model);
    return model;
  }

  std::int64_t updates() const { return updates_; }

  /// For records; see kiln/store/record.hpp.
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
  double share() const;  // of the next weights

  Rule rule_;
  Values averages_;
  std::int64_t updates_ = 0;
};

}  // namespace kiln
