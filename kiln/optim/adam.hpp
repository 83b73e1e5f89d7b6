// Adam and AdamW.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Kingma, Ba, "Adam: a method for stochastic optimization", 2015. Weight decay adds weight_decay * parameter to the
/// gradient.
struct AdamConfig {
  static constexpr std::string_view kName = "Adam";
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;

  template <Module M>
  Optimizer<AdamConfig> init(const M& model) const {
    return {*this, model};
  }

  std::span<const std::string_view> slot_names() const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Adam = Optimizer<AdamConfig>;

/// Loshchilov, Hutter, "Decoupled weight decay regularization", 2019: the parameter itself shrinks by
/// rate * weight_decay, whatever its gradient.
struct AdamWConfig {
  static constexpr std::string_view kName = "AdamW";
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01;

  template <Module M>
  Optimizer<AdamWConfig> init(const M& model) const {
    return {*this, model};
  }

  std::span<const std::string_view> slot_names() const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using AdamW = Optimizer<AdamWConfig>;

}  // namespace kiln
