// Systems of linear equations and determinants of matrices, in float32 or float64.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// Solves a x = b for a [..., n, n] and b [..., n, k] of the same batch. An absent b is the identity, and x the inverse
/// of a. A singular matrix is an ArgumentError that names the first one.
struct Solve {
  static constexpr std::string_view kName = "solve";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::OnData};
  double flops(Inputs in, Inputs out) const;
  enum Slot { a, b };
  /// The name of the call in errors: "inverse" where b is absent.
  static std::string_view called_function(Inputs in);
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << a, .out = true}; }
  void vjp(Backward& backward) const;
};

/// Solves a x = b, reading only one triangle of a; `unit` takes the diagonal as ones without reading it.
struct TriangularSolve {
  static constexpr std::string_view kName = "triangular_solve";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::OnData};
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
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
