// RMSProp.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Tieleman, Hinton, "Lecture 6.5: rmsprop", 2012, in PyTorch's form: g / (sqrt(v) + epsilon), where v is the moving
/// average of squared gradients, if `centered` minus the squared average of gradients (Graves, "Generating sequences
/// with recurrent neural networks", 2013). With a momentum the step is the velocity, momentum * velocity + that.
struct RmsPropConfig {
  static constexpr std::string_view kName = "RmsProp";
  double alpha = 0.99, epsilon = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false;

  template <class M>
  Optimizer<RmsPropConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Values fresh_slots(const Value& param) const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using RmsProp = Optimizer<RmsPropConfig>;

}  // namespace kiln
