// Loss scaling for gradients in float16.
#pragma once
#include "kiln/core/function_ref.hpp"
#include "kiln/nn/gradients.hpp"

namespace kiln {

class GradientScaler;

/// The scale is 2^exponent, and so exact in every float type.
struct GradientScalerConfig {
  std::int64_t exponent = 16;    // initially
  std::int64_t interval = 2000;  // this many steps without overflow double the scale; an overflow halves it

  /// Throws ArgumentError for an exponent outside [-126, 127] or an interval below 1, as init() does.
  void check() const;
  GradientScaler init() const;
};

/// Small gradients vanish in float16, whose smallest number is 6e-8. So the loss is multiplied by a large scale before
/// it is differentiated, and the gradients are divided by it, in float32. If the scale was too large, and a gradient is
/// infinite or NaN, the step is skipped and the scale halved (Micikevicius et al., "Mixed precision training", 2018).
/// bfloat16 has float32's range and does not need this.
///
///   const Autocast half(DType::F16);
///   auto [loss, grads] = value_and_grad(model, [&](const Model& m) { return scaler.scale(m.loss(batch)); });
///   model = optimizer.step(rate, std::move(model), scaler.unscale(std::move(grads)));
///
/// The loss above is scaled: to print it, divide it by the scale() before the step.
class [[nodiscard("a scaler scales a loss by scale(), and gradients back by unscale()")]] GradientScaler {
 public:
  explicit GradientScaler(const GradientScalerConfig& config);

  double scale() const;
  /// The loss in float32, times scale().
  Tensor<0> scale(const Tensor<0>& loss) const;
  /// The gradients in float32, divided by scale(). Empty if one is infinite or NaN: a step without gradients leaves
  /// model and optimizer unchanged. Updates the scale, unless there were no gradients, which say nothing about
  /// overflows. Waits for the device.
  GradientsParams unscale(GradientsParams grads);
  /// unscale() if each of several ranks has some of the gradients, or none: `everywhere` tells whether something is true
  /// on all ranks. Returns whether all gradients are finite on all ranks.
  bool unscale(GradientsParams& grads, FunctionRef<bool(bool here)> everywhere);

  const GradientScalerConfig& config() const { return config_; }

  /// Calls f(name, part) for the parts of a record of the scaler: two std::int64_t&.
  template <class F>
  void visit_state(F&& f) {
    f(std::string("exponent"), exponent_);
    f(std::string("steps"), steps_);
  }
  template <class F>
  void visit_state(F&& f) const {
    f(std::string("exponent"), exponent_);
    f(std::string("steps"), steps_);
  }

 private:
  GradientScalerConfig config_;
  std::int64_t exponent_;
  std::int64_t steps_ = 0;  // without overflow, since the scale last changed
};

}  // namespace kiln
