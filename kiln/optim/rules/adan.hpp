// Adan.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Xie, Zhou, Li, Lin, Yan, "Adan: adaptive Nesterov momentum algorithm for faster optimizing deep models", 2022, with
/// the betas of its authors' program (1 minus the paper's). Weight decay divides the parameter by 1 + rate *
/// weight_decay after the step, or, if not `proximal`, shrinks it before.
struct AdanConfig {
  static constexpr std::string_view kName = "Adan";
  double beta1 = 0.98, beta2 = 0.92, beta3 = 0.99, epsilon = 1e-8, weight_decay = 0;
  bool proximal = true;

  template <class M>
  Optimizer<AdanConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Adan = Optimizer<AdanConfig>;

}  // namespace kiln
