// Convolution (in fact cross-correlation, as usual) in 1, 2 and 3 dimensions and its two adjoints. All three are linear
// in each operand, and the gradient of any of them consists of the other two.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln {
struct ConvOptions;
}

namespace kiln::op {

/// x [batch, in, sizes...], weight [out, in / groups, kernel...], optional bias [out] -> [batch, out, result sizes...]
struct Conv {
  static constexpr std::string_view kName = "conv";
  static constexpr OpTraits kTraits{Pattern::Contraction, AutocastTo::Half, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot { x, weight, bias };
  Spatial stride, padding, padding_after, dilation;  // padding before the first and after the last element
  std::int64_t groups = 1;
  Float32Precision::Level precision = Float32Precision::OfDevice;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const { return saves_the_other(tracked); }
  void vjp(Backward& backward) const;
};

/// The convolution of 8-bit integers, signed or not, each minus its zero point: int32, whose sums wrap around. x and
/// weight have the shapes of Conv; optional zero points have their types: one number for x, with which it is padded,
/// one or [out] for the weight.
struct ConvInteger {
  static constexpr std::string_view kName = "conv_integer";
  static constexpr OpTraits kTraits{Pattern::Contraction, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot { x, weight, x_zero, weight_zero };
  Conv conv;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward&) const {}
};

/// Returns the op for these options and number of spatial dimensions, with defaults filled in.
Conv to_conv(const ConvOptions& options, int axes);

/// The adjoint in x: y [batch, out, ...], weight [out, in / groups, kernel...] -> [batch, in, sizes...], also called
/// transposed convolution.
struct ConvTranspose {
  static constexpr std::string_view kName = "conv_transpose";
  static constexpr OpTraits kTraits{Pattern::Contraction, AutocastTo::Half, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot { y, weight };
  Conv conv;
  Spatial sizes;  // spatial sizes of the result: conv() of it has those of y
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const { return saves_the_other(tracked); }
  void vjp(Backward& backward) const;
};

/// The adjoint in the weight: x [batch, in, ...], y [batch, out, ...] -> [out, in / groups, kernel...]
struct ConvWeightGrad {
  static constexpr std::string_view kName = "conv_weight_grad";
  static constexpr OpTraits kTraits{Pattern::Contraction, AutocastTo::Half, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot { x, y };
  Conv conv;
  Spatial kernel;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const { return saves_the_other(tracked); }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
