// NAdam.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Dozat, "Incorporating Nesterov momentum into Adam", 2016, with PyTorch's momentum beta1 * (1 - 0.96^(t *
/// momentum_decay) / 2) in step t. Weight decay is added to the gradient, or, if `decoupled`, shrinks the parameter as
/// in AdamW.
struct NAdamConfig {
  static constexpr std::string_view kName = "NAdam";
  static constexpr std::string_view kNumbers[] = {"momentum_product"};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
  bool decoupled = false;

  template <class M>
  Optimizer<NAdamConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using NAdam = Optimizer<NAdamConfig>;

}  // namespace kiln
