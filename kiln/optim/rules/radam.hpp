// RAdam.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Liu et al., "On the variance of the adaptive learning rate and beyond", 2020: Adam's step with a correction once its
/// variance is known from enough steps; before that, a step of momentum. Weight decay is added to the gradient, or, if
/// `decoupled`, shrinks the parameter as in AdamW.
struct RAdamConfig {
  static constexpr std::string_view kName = "RAdam";
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;

  template <class M>
  Optimizer<RAdamConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using RAdam = Optimizer<RAdamConfig>;

}  // namespace kiln
