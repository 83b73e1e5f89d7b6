#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/ops/signal/signal_ops.hpp"

#include <cmath>
#include <numbers>

#include "kiln/backend/cpu/reference/chunk.hpp"

namespace kiln::cpu::reference {
namespace {

// std::complex needs streams, which not every platform has.
struct Complex {
  double re = 0, im = 0;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  friend Complex operator*(Complex a, double b) { return {a.re * b, a.im * b}; }
};

std::int64_t smallest_factor(std::int64_t n) {
  for (std::int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

/// A transform of length n from those of its n / p interleaved parts, for the smallest prime p that divides n.
class Transform {
 public:
  Transform(std::int64_t n, bool inverse) : n_(n), roots_(static_cast<std::size_t>(n)), part_(roots_.size()) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
      roots_[static_cast<std::size_t>(i)] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
    }
  }
  void operator()(const Complex* x, Complex* z) { run(x, 1, z, n_); }

 private:
  void run(const Complex* x, std::int64_t step, Complex* z, std::int64_t n) {
    if (n == 1) {
      *z = *x;
      return;
    }
    const std::int64_t p = smallest_factor(n), m = n / p;
    for (std::int64_t r = 0; r < p; ++r) run(x + r * step, step * p, z + r * m, m);
    for (std::int64_t k = 0; k < m; ++k) {
      for (std::int64_t r = 0; r < p; ++r) part_[static_cast<std::size_t>(r)] = z[r * m + k];
      for (std::int64_t q = 0; q < p; ++q) {
        Complex sum;
        std::int64_t power = 0;  // r * (k + q * m) modulo n
        for (std::int64_t r = 0; r < p; ++r, power = (power + k + q * m) % n)
          sum = sum + part_[static_cast<std::size_t>(r)] * roots_[static_cast<std::size_t>(power * step)];
        z[q * m + k] = sum;
      }
    }
  }

  std::int64_t n_;
  std::vector<Complex> roots_, part_;
};

template <class C>
void fft(const op::Fft& op, Call call) {
  const bool from_real = op.kind == op::FftKind::RealToComplex, to_real = op.kind == op::FftKind::ComplexToReal;
  const Shape& shape = call.in[op::Fft::x].shape();
  const RowMajor<C> x(read(call.in[op::Fft::x]));
  Result<C> z(call.out[0]);
  const double scale = call.in[op::Fft::scale].scalar().to<double>();

  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < op.dim; ++i) outer *= shape[i];
  for (int i = op.dim + 1; i < shape.size() - (from_real ? 0 : 1); ++i) inner *= shape[i];
  if (outer * inner == 0) return z.store();

  Transform transform(op.n, op.inverse);
  std::vector<Complex> line(static_cast<std::size_t>(op.n)), spectrum(line.size());
  for (std::int64_t i = 0; i < outer * inner; ++i) {
    const std::int64_t first_in = i / inner * op.length_in() * inner + i % inner;
    const std::int64_t first_out = i / inner * op.length_out() * inner + i % inner;
    for (std::int64_t k = 0; k < op.length_in(); ++k) {
      const std::int64_t at = first_in + k * inner;
      Complex element;
      if (from_real) element.re = static_cast<double>(x[at]);
      else element = {static_cast<double>(x[2 * at]), static_cast<double>(x[2 * at + 1])};
      if (to_real) {
        if (!op.is_doubled(k)) element.im = 0;
        else if (op.adjoint) element = element * 0.5;
        if (op.is_doubled(k)) line[static_cast<std::size_t>(op.n - k)] = {element.re, -element.im};
      }
      line[static_cast<std::size_t>(k)] = element;
    }
    transform(line.data(), spectrum.data());
    for (std::int64_t k = 0; k < op.length_out(); ++k) {
      const std::int64_t at = first_out + k * inner;
      const double weight = from_real && op.adjoint && op.is_doubled(k) ? 2 : 1;
      const Complex element = spectrum[static_cast<std::size_t>(k)] * (scale * weight);
      if (to_real) {
        z[at] = static_cast<C>(element.re);
      } else {
        z[2 * at] = static_cast<C>(element.re);
        z[2 * at + 1] = static_cast<C>(element.im);
      }
    }
  }
  z.store();
}

}  // namespace

template <>
void run(const op::Fft& op, Call call) {
  visit_float(call.out[0].dtype(), [&]<class C>(TypeTag<C>) { fft<C>(op, call); });
}

}  // namespace kiln::cpu::reference
