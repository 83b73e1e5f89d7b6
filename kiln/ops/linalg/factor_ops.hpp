// Factorisations of matrices [..., m, n] into triangular and orthogonal ones, in float32 or float64.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// The lower triangular l with a = l lᵀ and a positive diagonal; reads the lower triangle of a. A matrix that is not
/// positive definite is an ArgumentError that names the first such matrix.
struct Cholesky {
  static constexpr std::string_view kName = "cholesky";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::OnData};
  double flops(Inputs in, Inputs out) const;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.out = true}; }
  void vjp(Backward& backward) const;
};

/// Partial pivoting: row permutation[i] of a is row i of l u. `packed` [..., m, n] holds l below its diagonal (whose
/// ones are left out) and u on and above it; `permutation` is int64 [..., m]; `sign` [...] is its determinant, 1 or -1.
struct Lu {
  static constexpr std::string_view kName = "lu";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Result { packed, permutation, sign };
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.out = true}; }
  void vjp(Backward& backward) const;
};

/// a = q r with orthonormal columns in q and an upper triangular r whose diagonal is not negative. Reduced: q is
/// [..., m, k], r [..., k, n] for k = min(m, n). Complete: q is [..., m, m], r [..., m, n].
struct Qr {
  static constexpr std::string_view kName = "qr";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Result { q, r };
  bool complete = false;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
