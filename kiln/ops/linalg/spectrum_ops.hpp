// Eigenvalues and singular values of matrices, in float32 or float64. The sign of each vector makes the first of the
// elements within a tenth of the largest magnitude positive. Matrices with NaN or infinity are an ArgumentError.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// a = v diag(w) vᵀ for symmetric a [..., n, n], whose lower triangle is read: w [..., n] ascending, and, with
/// `vectors`, v [..., n, n] with orthonormal columns.
struct Eigh {
  static constexpr std::string_view kName = "eigh";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::OnData};
  double flops(Inputs in, Inputs out) const;
  enum Result { w, v };
  bool vectors = true;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = vectors ? 0u : 1u, .out = vectors}; }
  void vjp(Backward& backward) const;
};

enum class SvdForm : std::uint8_t { Values, Reduced, Full };

/// a = u diag(s) vt: u [..., m, k], s [..., k] descending, vt [..., k, n] for k = min(m, n); in full form u [..., m, m]
/// and vt [..., n, n]; or s alone. The sign rule applies to the columns of u.
struct Svd {
  static constexpr std::string_view kName = "svd";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::OnData};
  double flops(Inputs in, Inputs out) const;
  enum Result { u, s, vt };
  SvdForm form = SvdForm::Reduced;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = form == SvdForm::Values ? 1u : 0u, .out = form != SvdForm::Values}; }
  void vjp(Backward& backward) const;
};

/// The Moore-Penrose inverse [..., n, m]; singular values up to `absolute`, or `cutoff` times the largest, are taken as
/// zero.
struct Pinv {
  static constexpr std::string_view kName = "pinv";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::OnData};
  double flops(Inputs in, Inputs out) const;
  double cutoff, absolute = 0;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
