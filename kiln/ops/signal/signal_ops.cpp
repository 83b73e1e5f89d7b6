#include "kiln/ops/signal/signal_ops.hpp"

#include <cmath>

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {

Descs Fft::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_float(kName, in[x]);
  require<ArgumentError>(in[scale].is_scalar(), "fft: the scale must be a plain number, got ", in[scale]);
  const bool from_complex = kind != FftKind::RealToComplex, to_complex = kind != FftKind::ComplexToReal;
  Shape shape = in[x].shape();
  if (from_complex) {
    require<ShapeError>(!shape.empty() && shape.back() == 2, "fft: ", in[x],
                        " is not complex: its last dimension must have size 2");
    shape.pop_back();
  }
  require<IndexError>(dim >= 0 && dim < shape.size(), "fft: dimension ", dim, " is out of range for rank ",
                      shape.size());
  require<ArgumentError>(n >= 1 && n < std::int64_t{1} << 40, "fft: a length of ", n);
  require<ShapeError>(shape[dim] == length_in(), "fft: ", in[x], " has ", shape[dim], " elements along dimension ", dim,
                      ", not ", length_in());
  shape[dim] = length_out();
  if (to_complex) shape.push_back(2);
  return one(shape, in[x].dtype());
}

void Fft::vjp(Backward& backward) const {
  Fft back = *this;
  back.inverse = !inverse;
  if (kind != FftKind::ComplexToComplex) {
    back.kind = kind == FftKind::RealToComplex ? FftKind::ComplexToReal : FftKind::RealToComplex;
    back.adjoint = !adjoint;
  }
  backward.to(x, [&] { return emit(back, {backward.grad(), backward.in(scale)}); });
}

/// 5 n log2 n for a complex line of n elements, half of that for a real one: the usual count for any algorithm (Frigo
/// and Johnson, "The Design and Implementation of FFTW3", 2005).
double Fft::flops(Inputs in, Inputs) const {
  if (length_in() == 0 || n < 2) return 0;
  const bool pairs = kind != FftKind::RealToComplex;
  const double lines = static_cast<double>(in[x].numel()) / static_cast<double>(length_in()) / (pairs ? 2 : 1);
  return lines * 5 * static_cast<double>(n) * std::log2(static_cast<double>(n)) /
         (kind == FftKind::ComplexToComplex ? 1 : 2);
}

}  // namespace kiln::op
