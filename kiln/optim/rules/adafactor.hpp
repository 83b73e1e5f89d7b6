// Adafactor.
#pragma once
#include <optional>

#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Shazeer, Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018, in PyTorch's form: the
/// squared gradients of a matrix are kept as averages over its rows and its columns (the last two dimensions; vectors
/// in full), in which step t has the weight t^decay; the step is at most `threshold` in root mean square, times
/// min(rate, 1 / sqrt(t)) and the parameter's root mean square, which is taken as at least `least_scale`. Weight decay
/// as in AdamW.
struct AdafactorConfig {
  static constexpr std::string_view kName = "Adafactor";
  double decay = -0.8, least_scale = 1e-3, threshold = 1, weight_decay = 0;
  std::optional<double> epsilon{};  // default: that of the element type

  template <class M>
  Optimizer<AdafactorConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  Values fresh_slots(const Value& param) const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Adafactor = Optimizer<AdafactorConfig>;

}  // namespace kiln
