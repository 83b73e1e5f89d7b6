// Matrix products.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// [..., m, k] x [..., k, n] -> [..., m, n]; the leading dimensions broadcast.
struct Matmul {
  static constexpr std::string_view kName = "matmul";
  static constexpr OpTraits kTraits{Pattern::Contraction, AutocastTo::Half, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  Float32Precision::Level precision = Float32Precision::OfDevice;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const { return saves_the_other(tracked); }
  void vjp(Backward& backward) const;
};

/// The product of 8-bit integers, signed or not, each minus its zero point: int32, whose sums wrap around.
/// a [..., m, k], b [..., k, n], optional zero points of the same types: one number or [..., m, 1] for a, one number or
/// [..., 1, n] for b.
struct MatmulInteger {
  static constexpr std::string_view kName = "matmul_integer";
  static constexpr OpTraits kTraits{Pattern::Contraction, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot { a, b, a_zero, b_zero };
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward&) const {}
};

}  // namespace kiln::op
