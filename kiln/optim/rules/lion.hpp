// Lion.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Chen et al., "Symbolic discovery of optimization algorithms", 2023: all elements step by the same amount, up or
/// down. Weight decay as in AdamW; a tenth of AdamW's rate and ten times its decay have a similar effect.
struct LionConfig {
  static constexpr std::string_view kName = "Lion";
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;

  template <class M>
  Optimizer<LionConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Lion = Optimizer<LionConfig>;

}  // namespace kiln
