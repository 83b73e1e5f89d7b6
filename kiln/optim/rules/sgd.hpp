// Stochastic gradient descent.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// PyTorch's form: the velocity is v = momentum * v + (1 - dampening) * g, initially the first gradient, and the step
/// is rate * v, or with Nesterov rate * (g + momentum * v). Weight decay adds weight_decay * parameter to g.
struct SgdConfig {
  static constexpr std::string_view kName = "Sgd";
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;

  template <class M>
  Optimizer<SgdConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Sgd = Optimizer<SgdConfig>;

}  // namespace kiln
