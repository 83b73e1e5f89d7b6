// LAMB.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", 2020: Adam's step plus
/// weight_decay * parameter, scaled to the parameter's norm. It is not scaled if a norm is zero.
struct LambConfig {
  static constexpr std::string_view kName = "Lamb";
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 0.01;

  template <class M>
  Optimizer<LambConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Lamb = Optimizer<LambConfig>;

}  // namespace kiln
