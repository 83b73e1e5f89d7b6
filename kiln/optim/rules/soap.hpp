// SOAP.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Vyas et al., "SOAP: improving and stabilizing Shampoo using Adam", 2024, algorithm 3: Adam in the basis of
/// eigenvectors of the gradients' second moments over rows and over columns; one step of power iteration updates the
/// basis after every `every` steps. As in its authors' program the first step only computes the basis; a side longer
/// than `longest` has none, and neither have vectors, for which this is Adam. Parameters [out, ...] are seen as
/// matrices with `out` rows. Weight decay as in AdamW, after the step. Throws ArgumentError for gradients that are not
/// finite.
struct SoapConfig {
  static constexpr std::string_view kName = "Soap";
  double beta1 = 0.95, beta2 = 0.95, basis_beta = 0.95, epsilon = 1e-8, weight_decay = 0.01;
  std::int64_t every = 10, longest = 10000;

  template <class M>
  Optimizer<SoapConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  Values fresh_slots(const Value& param) const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Soap = Optimizer<SoapConfig>;

}  // namespace kiln
