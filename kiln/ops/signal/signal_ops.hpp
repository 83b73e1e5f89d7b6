// The discrete Fourier transform. A complex tensor is a tensor of floats whose last dimension has size 2: the real and
// the imaginary part.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

enum class FftKind : std::uint8_t { ComplexToComplex, RealToComplex, ComplexToReal };

/// scale * sum over j of x[j] exp(-2 pi i j k / n) along `dim`, for k in [0, n); `inverse` flips the exponent's sign.
/// The spectrum of real numbers is conjugate symmetric: RealToComplex returns only its first n / 2 + 1 elements, and
/// ComplexToReal reads only these, ignoring the imaginary parts that symmetry forbids.
///
/// Each kind is linear, and its gradient is of another kind. RealToComplex and ComplexToReal are each other's adjoint
/// except for the elements that represent themselves and their mirror image; with `adjoint`, RealToComplex doubles
/// these and ComplexToReal counts them once.
struct Fft {
  static constexpr std::string_view kName = "fft";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot { x, scale };
  FftKind kind;
  bool inverse;
  int dim;         // not the last one of a complex tensor
  std::int64_t n;  // elements along `dim` of the complex or real signal
  bool adjoint = false;

  /// The number of elements along `dim`: n, or n / 2 + 1 for the spectrum of real numbers.
  std::int64_t length_in() const { return kind == FftKind::ComplexToReal ? n / 2 + 1 : n; }
  std::int64_t length_out() const { return kind == FftKind::RealToComplex ? n / 2 + 1 : n; }
  /// Whether element k of a halved spectrum also represents its mirror image.
  bool is_doubled(std::int64_t k) const { return k != 0 && 2 * k != n; }

  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
