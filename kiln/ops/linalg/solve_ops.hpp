// Systems of linear equations and the determinants of their matrices, in float32 or float64.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// x with a x = b, for a [..., n, n] and b [..., n, k] of the same batch. Where b is absent it is the identity, and x
/// the inverse of a. Singular matrices are an ArgumentError that names the first of them.
struct Solve {
  static constexpr std::string_view kName = "solve";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::OnData};
  double flops(Inputs in, Inputs out) const;
  enum Slot { a, b };
  /// "inverse" where b is absent: how errors name the call.
  static std::string_view called_function(Inputs in);
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << a, .out = true}; }
  void vjp(Backward& backward) const;
};

/// x with a x = b, reading one triangle of a alone; `unit` takes the diagonal for ones without reading it.
struct TriangularSolve {
  static constexpr std::string_view kName = "triangular_solve";
  static constexpr Facts kFacts{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::OnData};
  double flops(Inputs in, Inputs out) const;
  enum Slot { a, b };
  bool upper = false, unit = false;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << a, .out = true}; }
  void vjp(Backward& backward) const;
};

/// [..., n, n] -> [...]
struct Det {
  static constexpr std::string_view kName = "det";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
