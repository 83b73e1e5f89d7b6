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

  /// Throws ArgumentError for a decay outside [0, 1].
  template <Module M>
  WeightAverage init(const M& model) const;
};

/// The plain mean of the weights at all updates (Izmailov, Podoprikhin, Garipov, Vetrov, Wilson, "Averaging weights leads
/// to wider optima and better generalization", 2018): one update an epoch is usual. What batch norm knows of the averaged
/// model is to be learned anew, by passes in Mode::Train, unless `buffers`.
struct SwaConfig {
  bool buffers = false;

  template <Module M>
  WeightAverage init(const M& model) const;
};

/// Starts as the weights of the model that it is made for. Averages of halves are kept in float32. Frozen parameters and
/// those that are no floats have no average. Saved and loaded as an optimizer is.
class WeightAverage {
 public:
  /// Takes the model's weights into the average. Runs what was asked for so far; where that fails the average is as before.
  template <Module M>
  void update(const M& model) {
    update_with(current(model));
  }

  /// The model with the averages in the places of its weights.
  template <Module M>
  M apply(M model) const {
    visit_averaged(model, [&](const std::string& path, auto& leaf) {
      if (const auto found = averages_.find(path); found != averages_.end())
        leaf = nn::with_value(leaf, rounded(found->second, leaf.value()));
    });
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
  template <Module M>
  WeightAverage(const Rule& rule, const M& model) : rule_(rule) {
    start(current(model));
  }

  template <class M, class F>
  void visit_averaged(M& model, F&& f) const {
    nn::walk(model, [&]<class L>(const std::string& path, L& leaf) {
      if constexpr (nn::ParamLike<L> || nn::BufferLike<L>) {
        if (leaf.empty() || !is_float(leaf.value().dtype())) return;
        if constexpr (nn::ParamLike<L>) {
          if (leaf.is_frozen()) return;
        } else if (!rule_.ema.buffers) {
          return;
        }
        f(path, leaf);
      }
    });
  }
  template <Module M>
  Values current(const M& model) const {
    Values values;
    visit_averaged(model, [&](const std::string& path, const auto& leaf) { values.emplace(path, leaf.value()); });
    return values;
  }

  template <class Self, class F>
  static void visit_state_of(Self& self, F& f) {
    for (auto& [path, average] : self.averages_) f("average." + path, average);
    f(std::string("updates"), self.updates_);
  }

  static Value rounded(const Value& average, const Value& like);
  void start(const Values& values);
  void update_with(const Values& values);
  double share() const;  // of the next weights

  Rule rule_;
  Values averages_;
  std::int64_t updates_ = 0;
};

template <Module M>
WeightAverage EmaConfig::init(const M& model) const {
  require<ArgumentError>(decay >= 0 && decay <= 1, "EmaConfig: decay = ", decay, " must lie in [0, 1]");
  return {WeightAverage::Rule{.equal = false, .ema = *this}, model};
}
template <Module M>
WeightAverage SwaConfig::init(const M& model) const {
  return {WeightAverage::Rule{.equal = true, .ema = {.buffers = buffers}}, model};
}

}  // namespace kiln
