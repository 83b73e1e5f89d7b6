// Schedule-free AdamW.
#pragma once
#include "kiln/optim/optimizer.hpp"

namespace kiln {

/// Defazio et al., "The road less scheduled", 2024: no schedule of rates except a warm-up of `warmup` steps; the model
/// for inference is an average of all its parameters, optimizer.averaged(model), in which step t has the weight
/// (t^step_power) * (largest rate so far)^rate_power. Weight decay adds weight_decay * parameter to the normalised
/// gradient.
struct ScheduleFreeAdamWConfig {
  static constexpr std::string_view kName = "ScheduleFreeAdamW";
  static constexpr std::string_view kNumbers[] = {"weight_sum", "largest_rate"};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  std::int64_t warmup = 0;
  double step_power = 0, rate_power = 2;

  template <class M>
  Optimizer<ScheduleFreeAdamWConfig> init(const M& model, OptimizerOptions options = {}) const {
    return {*this, nn::module_of(model), std::move(options)};
  }

  std::span<const std::string_view> slot_names() const;
  bool elementwise() const { return true; }
  Value averaged(const Value& param, const ParamState& state) const;
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const;
  void check() const;
};
using ScheduleFreeAdamW = Optimizer<ScheduleFreeAdamWConfig>;

}  // namespace kiln
