// Adam and AdamW.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Kingma, Ba, "Adam: a method for stochastic optimization", 2015. Weight decay adds weight_decay * parameter to the
/// gradient. With `amsgrad` the largest second moment so far is used (Reddi, Kale, Kumar, "On the convergence of Adam
/// and beyond", 2018).
struct AdamConfig {
  static constexpr std::string_view kName = "Adam";
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool amsgrad = false;

  template <class M>
  Optimizer<AdamConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Adam = Optimizer<AdamConfig>;

/// Loshchilov, Hutter, "Decoupled weight decay regularization", 2019: the parameter itself shrinks by
/// rate * weight_decay, whatever its gradient.
///
/// `cautious` leaves out elements of a step that would go against the current gradient, and scales the others up
/// accordingly (Liang, Chen, Liu, Liu, "Cautious optimizers: improving training with one line of code", 2024);
/// `cautious_decay` only shrinks elements that the step moves towards zero, too (Chen et al., "Cautious weight decay",
/// 2025).
struct AdamWConfig {
  static constexpr std::string_view kName = "AdamW";
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01;
  bool amsgrad = false, cautious = false, cautious_decay = false;

  template <class M>
  Optimizer<AdamWConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return !cautious; }  // which counts elements of the whole parameter
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using AdamW = Optimizer<AdamWConfig>;

}  // namespace kiln
