// Weighted sums of scattered elements, as in sampling an image at any positions. The three ops are linear in each
// operand, and the gradient of any of them consists of the other two, as with convolution.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// x [batch, channels, size], index and weight [batch, points, taps] -> [batch, channels, points]:
/// result[n][c][p] = sum over t of weight[n][p][t] * x[n][c][index[n][p][t]], where an index outside of x adds nothing.
struct Blend {
  static constexpr std::string_view kName = "blend";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, index, weight };
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// The adjoint in x: y [batch, channels, points], index and weight [batch, points, taps] -> [batch, channels, size].
/// It adds in the order of the points.
struct BlendTranspose {
  static constexpr std::string_view kName = "blend_transpose";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { y, index, weight };
  std::int64_t size;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// The adjoint in the weight: x [batch, channels, size], index [batch, points, taps], y [batch, channels, points]
/// -> [batch, points, taps].
struct BlendWeightGrad {
  static constexpr std::string_view kName = "blend_weight_grad";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, index, y };
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
