// Matrix products.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// [..., m, k] x [..., k, n] -> [..., m, n]; the leading dimensions broadcast.
struct Matmul {
  static constexpr std::string_view kName = "matmul";
  static constexpr Pattern kPattern = Pattern::Contraction;
  Descs infer(Inputs in) const;
  Saves saves() const { return {.in = 0b11}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
