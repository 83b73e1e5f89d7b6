// Muon.
#pragma once
#include <array>

#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024: brings all singular values of a
/// matrix's momentum near 1, by Newton-Schulz iterations, here in the parameter's own type. Parameters [out, ...] are
/// seen as matrices with `out` rows; those of fewer dimensions need another rule, and so a group. Weight decay as in
/// AdamW.
///
/// `scale` selects the factor of the step of an [a, b] matrix. Original: sqrt(max(1, a / b)). MatchAdamW: 0.2
/// sqrt(max(a, b)), so that rates of AdamW can be used (Liu et al., "Muon is scalable for LLM training", 2025).
/// Spectral: sqrt(a / b).
struct MuonConfig {
  static constexpr std::string_view kName = "Muon";
  enum class Scale : std::uint8_t { Original, MatchAdamW, Spectral };
  double momentum = 0.95, weight_decay = 0.1, epsilon = 1e-7;
  bool nesterov = true;
  std::int64_t iterations = 5;
  std::array<double, 3> coefficients{3.4445, -4.775, 2.0315};
  Scale scale = Scale::Original;

  template <class M>
  Optimizer<MuonConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  Values fresh_slots(const Value& param) const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using Muon = Optimizer<MuonConfig>;

}  // namespace kiln
