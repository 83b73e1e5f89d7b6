// AdaDelta.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Zeiler, "ADADELTA: an adaptive learning rate method", 2012. The method has no rate of its own: 1 is the paper's.
struct AdaDeltaConfig {
  static constexpr std::string_view kName = "AdaDelta";
  double rho = 0.9, epsilon = 1e-6, weight_decay = 0;

  template <class M>
  Optimizer<AdaDeltaConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using AdaDelta = Optimizer<AdaDeltaConfig>;

}  // namespace kiln
