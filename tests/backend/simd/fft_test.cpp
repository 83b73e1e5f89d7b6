// Fourier transforms against sums in double, for lines side by side and for one that is long, on every instruction set.
#include <array>
#include <cmath>
#include <numbers>

#include "kiln/ops/signal/signal_ops.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

/// The first `kept` elements of each line's transform; x and the result are complex.
std::vector<double> transformed(const std::vector<double>& x, std::int64_t lines, std::int64_t n, std::int64_t kept) {
  std::vector<double> z;
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t k = 0; k < kept; ++k) {
      double re = 0, im = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
        const double c = std::cos(angle), s = std::sin(angle);
        const double* const at = x.data() + 2 * (line * n + j);
        re += at[0] * c - at[1] * s;
        im += at[0] * s + at[1] * c;
      }
      z.insert(z.end(), {re, im});
    }
  return z;
}

// Lengths of one factor and of several, divided into rows and columns that fill no whole vectors, and a prime.
constexpr std::array<std::array<std::int64_t, 2>, 7> kFftSizes{
    {{8, 16}, {24, 19}, {64, 16}, {67, 17}, {256, 1}, {512, 2}, {1050, 1}}};

TEST(SimdFft, TransformsInVectors) {
  for (const auto& [n, lines] : kFftSizes) {
    const std::vector<double> given = rounded(DType::F32, random_numbers(lines * n * 2, -1, 1));
    std::vector<double> real, widened;
    for (std::int64_t i = 0; i < lines * n; ++i) {
      real.push_back(given[static_cast<std::size_t>(i)]);
      widened.insert(widened.end(), {real.back(), 0});
    }
    const std::vector<double> of_complex = transformed(given, lines, n, n);
    const std::vector<double> of_real = transformed(widened, lines, n, n / 2 + 1);
    for_each_target([&, n = n, lines = lines] {
      for (const DType dtype : {DType::F32, DType::F64}) {
        SCOPED_TRACE(n);
        const double allowed = (dtype == DType::F32 ? 1e-6 : 1e-14) * static_cast<double>(n);
        const Value one(1.0), share(1 / static_cast<double>(n));
        using op::FftKind;
        const op::Fft forward{.kind = FftKind::ComplexToComplex, .inverse = false, .dim = 1, .n = n};
        const Value x = tensor(dtype, {lines, n, 2}, given);
        expect_close(numbers(run_op(forward, {x, one})), of_complex, 0, allowed);
        const op::Fft of_reals{.kind = FftKind::RealToComplex, .inverse = false, .dim = 1, .n = n};
        const Value spectrum = run_op(of_reals, {tensor(dtype, {lines, n}, real), one});
        expect_close(numbers(spectrum), of_real, 0, allowed);
        const op::Fft to_reals{.kind = FftKind::ComplexToReal, .inverse = true, .dim = 1, .n = n};
        expect_close(numbers(run_op(to_reals, {spectrum, share})), real, 0, allowed);
      }
    });
  }
}

}  // namespace
}  // namespace kiln::cpu::simd
