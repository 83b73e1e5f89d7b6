// The functions of special.def that ATen has, in float64, and the greatest common divisor.
#include <ATen/ATen.h>

#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/ops/special/special_ops.hpp"

namespace kiln::libtorch {
namespace {

using Operands = std::vector<at::Tensor>;

/// Returns an undefined tensor where ATen has no such function.
at::Tensor compute(op::SpecialFn fn, const Operands& in) {
  switch (fn) {
    case op::SpecialFn::Erfcx: return at::special_erfcx(in[0]);
    case op::SpecialFn::Ndtr: return at::special_ndtr(in[0]);
    case op::SpecialFn::LogNdtr: return at::special_log_ndtr(in[0]);
    case op::SpecialFn::Ndtri: return at::special_ndtri(in[0]);
    case op::SpecialFn::Igamma: return at::igamma(in[0], in[1]);
    case op::SpecialFn::Igammac: return at::igammac(in[0], in[1]);
    case op::SpecialFn::Zeta: return at::special_zeta(in[0], in[1]);
    case op::SpecialFn::BesselJ0: return at::special_bessel_j0(in[0]);
    case op::SpecialFn::BesselJ1: return at::special_bessel_j1(in[0]);
    case op::SpecialFn::BesselY0: return at::special_bessel_y0(in[0]);
    case op::SpecialFn::BesselY1: return at::special_bessel_y1(in[0]);
    case op::SpecialFn::I0e: return at::special_i0e(in[0]);
    case op::SpecialFn::I1e: return at::special_i1e(in[0]);
    case op::SpecialFn::BesselK0: return at::special_modified_bessel_k0(in[0]);
    case op::SpecialFn::BesselK1: return at::special_modified_bessel_k1(in[0]);
    case op::SpecialFn::BesselK0e: return at::special_scaled_modified_bessel_k0(in[0]);
    case op::SpecialFn::BesselK1e: return at::special_scaled_modified_bessel_k1(in[0]);
    case op::SpecialFn::SphericalJ0: return at::special_spherical_bessel_j0(in[0]);
    case op::SpecialFn::ChebyshevT: return at::special_chebyshev_polynomial_t(in[0], in[1]);
    case op::SpecialFn::ChebyshevU: return at::special_chebyshev_polynomial_u(in[0], in[1]);
    case op::SpecialFn::ChebyshevV: return at::special_chebyshev_polynomial_v(in[0], in[1]);
    case op::SpecialFn::ChebyshevW: return at::special_chebyshev_polynomial_w(in[0], in[1]);
    case op::SpecialFn::HermiteH: return at::special_hermite_polynomial_h(in[0], in[1]);
    case op::SpecialFn::HermiteHe: return at::special_hermite_polynomial_he(in[0], in[1]);
    case op::SpecialFn::LegendreP: return at::special_legendre_polynomial_p(in[0], in[1]);
    case op::SpecialFn::LaguerreL: return at::special_laguerre_polynomial_l(in[0], in[1]);
    case op::SpecialFn::FrexpMantissa: return std::get<0>(at::frexp(in[0]));
    case op::SpecialFn::FrexpExponent: return std::get<1>(at::frexp(in[0]));
    default: return {};
  }
}

/// Functions that ATen has with errors of 6e-7.
bool is_coarse(op::SpecialFn fn) {
  using enum op::SpecialFn;
  return fn == BesselJ0 || fn == BesselJ1 || fn == BesselY0 || fn == BesselY1;
}

}  // namespace

bool run(const op::Special& op, Call call) {
  if (is_coarse(op.fn) && call.out[0].dtype() == DType::F64) return false;
  Operands in;
  for (const Value& value : call.in) in.push_back(operand(value, call.out[0].dtype()).to(at::kDouble));
  const at::Tensor result = compute(op.fn, in);
  if (!result.defined()) return false;
  const at::Tensor rounded = result.to(computed_in(call.out[0].dtype()));  // once for a half, as the reference does
  give(call.out[0], rounded.expand(to_vector(call.out[0].shape())));
  return true;
}

bool run(const op::Gcd&, Call call) {
  const DType dtype = call.out[0].dtype();
  give(call.out[0], at::gcd(operand(call.in[0], dtype), operand(call.in[1], dtype)));
  return true;
}

}  // namespace kiln::libtorch
