// Normalisations of [batch, channels, ...] with a weight and a bias for each channel.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// Each channel of x [batch, channels, ...] minus its mean, divided by its standard deviation, scaled and shifted. The
/// results are y and the channels' mean and variance (divided by count), in float32 for halves. weight and bias are
/// [channels] or absent. Only y has a gradient.
struct BatchNorm {
  static constexpr std::string_view kName = "batch_norm";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, weight, bias, epsilon };
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << x | 1u << weight | 1u << epsilon, .out = true}; }
  void vjp(Backward& backward) const;
};

/// The gradients of x, weight and bias, given that of y.
struct BatchNormGrad {
  static constexpr std::string_view kName = "batch_norm_grad";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, weight, epsilon, mean, variance, grad };
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;  // none: BatchNorm records the expansion where a gradient is wanted
};

/// Each group of channels of x [batch, channels, ...] minus its mean (where `centred`), divided by its standard
/// deviation, then scaled and shifted by channel; weight and bias are [channels] or absent. A group is a run of
/// channels / groups channels.
struct GroupNorm {
  static constexpr std::string_view kName = "group_norm";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, weight, bias, epsilon };
  std::int64_t groups = 1;
  bool centred = true;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << x | 1u << weight | 1u << epsilon}; }
  void vjp(Backward& backward) const;
};

/// The gradients of x, weight and bias. `grad` has as many elements as x, in the same row-major order under any shape,
/// and may be a half type where x is float32.
struct GroupNormGrad {
  static constexpr std::string_view kName = "group_norm_grad";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, weight, epsilon, grad };
  std::int64_t groups = 1;
  bool centred = true;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;  // none: GroupNorm records the expansion where a gradient is wanted
};

}  // namespace kiln::op
