// AdaGrad.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011: the rate
/// of each element is divided by the root of the sum of its squared gradients, which starts at `initial`. As in
/// PyTorch, the rate itself decays as 1 / (1 + rate_decay * steps).
struct AdaGradConfig {
  static constexpr std::string_view kName = "AdaGrad";
  double rate_decay = 0, weight_decay = 0, initial = 0, epsilon = 1e-10;

  template <class M>
  Optimizer<AdaGradConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Values fresh_slots(const Value& param) const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using AdaGrad = Optimizer<AdaGradConfig>;

}  // namespace kiln
