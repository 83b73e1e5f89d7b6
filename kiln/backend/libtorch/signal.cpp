// The discrete Fourier transform.
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/ops/signal/signal_ops.hpp"

namespace kiln::libtorch {
namespace {

/// The factor of each element of a halved spectrum along `dim`: `doubled` for those that stand for two.
at::Tensor weights(const op::Fft& op, const at::Tensor& spectrum, double doubled) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(spectrum.dim()), 1);
  shape[static_cast<std::size_t>(op.dim)] = op.n / 2 + 1;
  const at::Tensor factors = at::full({op.n / 2 + 1}, doubled, at::kDouble);
  factors[0] = 1;
  if (op.n % 2 == 0) factors[op.n / 2] = 1;
  return factors.to(at::toRealValueType(spectrum.scalar_type())).view(shape);
}

at::Tensor complex(const Value& value) { return at::view_as_complex(computed(value).contiguous()); }
at::Tensor real_pairs(const at::Tensor& x) { return at::view_as_real(x.resolve_conj()); }

at::Tensor transform(const op::Fft& op, const Value& value) {
  switch (op.kind) {
    case op::FftKind::ComplexToComplex: {
      const at::Tensor x = complex(value);
      return real_pairs(op.inverse ? at::fft_ifft(x, op.n, op.dim, "forward") : at::fft_fft(x, op.n, op.dim));
    }
    case op::FftKind::RealToComplex: {
      at::Tensor y = at::fft_rfft(computed(value), op.n, op.dim);
      if (op.adjoint) y = y * weights(op, y, 2);
      return real_pairs(op.inverse ? at::conj(y) : y);
    }
    case op::FftKind::ComplexToReal: {
      at::Tensor x = complex(value);
      if (op.adjoint) x = x * weights(op, x, 0.5);
      return op.inverse ? at::fft_irfft(x, op.n, op.dim, "forward") : at::fft_hfft(x, op.n, op.dim);
    }
  }
  __builtin_unreachable();
}

}  // namespace

bool run(const op::Fft& op, Call call) {
  give(call.out[0], transform(op, call.in[op::Fft::x]) * call.in[op::Fft::scale].scalar().to<double>());
  return true;
}

}  // namespace kiln::libtorch
