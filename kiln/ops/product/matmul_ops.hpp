// Matrix products.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// [..., m, k] x [..., k, n] -> [..., m, n]; the leading dimensions broadcast.
struct Matmul {
  static constexpr std::string_view kName = "matmul";
  static constexpr Facts kFacts{Pattern::Contraction, AutocastTo::Half, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const { return saves_the_other(tracked); }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
