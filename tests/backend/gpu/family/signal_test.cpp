// Fourier transforms of all kinds of lengths by the GPU families, against sums over doubles.
#include <cmath>
#include <numbers>

#include "kiln/ops/signal/signal_ops.hpp"
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

std::vector<double> noise(const Shape& shape) {
  std::mt19937 random(1);
  std::vector<double> numbers(places(shape));
  for (double& number : numbers) number = (static_cast<int>(random() % 33) - 16) / 16.0;
  return numbers;
}

double tolerance_of(DType dtype, std::int64_t n) {
  return (dtype == DType::F64 ? 1e-14 : 1e-6) * 4 * static_cast<double>(n + 4);
}

/// x [2, n, inner] of complex numbers along dimension 1, of which some harmonics are compared.
void expect_transform(std::int64_t n, std::int64_t inner, bool inverse, DType dtype) {
  const Shape shape{2, n, inner, 2};
  const std::vector<double> x = noise(shape);
  const Value z = emit(op::Fft{op::FftKind::ComplexToComplex, inverse, 1, n}, {uploaded(shape, x, dtype), 0.5});
  std::vector<double> expected(x.size());
  for (std::int64_t line = 0; line < 2 * inner; ++line)
    for (std::int64_t k = 0; k < n; ++k) {
      double re = 0, im = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
        const double c = std::cos(angle), s = inverse ? std::sin(angle) : -std::sin(angle);
        const auto at = static_cast<std::size_t>(((line / inner * n + j) * inner + line % inner) * 2);
        re += x[at] * c - x[at + 1] * s;
        im += x[at] * s + x[at + 1] * c;
      }
      const auto to = static_cast<std::size_t>(((line / inner * n + k) * inner + line % inner) * 2);
      expected[to] = re / 2;
      expected[to + 1] = im / 2;
    }
  expect_near(z, expected, tolerance_of(dtype, n), text("length ", n, " beside ", inner));
}

TEST(GpuFft, OfAllLengths) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 24, 30, 49, 64, 97, 100, 128})
    for (const std::int64_t inner : {1, 3}) {
      expect_transform(n, inner, n % 3 == 0, DType::F64);
      expect_transform(n, inner, n % 2 == 0, DType::F32);
    }
}

// Beyond what a block's shared memory holds.
TEST(GpuFft, OfLongLines) {
  expect_transform(1600, 1, false, DType::F64);
  expect_transform(1553, 1, true, DType::F64);  // a prime
  expect_transform(3080, 1, false, DType::F32);
}

TEST(GpuFft, OfRealNumbersThereAndBack) {
  for (const std::int64_t n : {1, 2, 7, 8, 30, 1601})
    for (const bool adjoint : {false, true}) {
      const std::vector<double> x = noise({3, n});
      const Value z =
          emit(op::Fft{op::FftKind::RealToComplex, false, 1, n, adjoint}, {uploaded({3, n}, x, DType::F64), 1.0});
      const std::int64_t half = n / 2 + 1;
      std::vector<double> expected;
      for (std::int64_t line = 0; line < 3; ++line)
        for (std::int64_t k = 0; k < half; ++k) {
          double re = 0, im = 0;
          for (std::int64_t j = 0; j < n; ++j) {
            const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
            re += x[static_cast<std::size_t>(line * n + j)] * std::cos(angle);
            im -= x[static_cast<std::size_t>(line * n + j)] * std::sin(angle);
          }
          const double weight = adjoint && k != 0 && 2 * k != n ? 2 : 1;
          expected.push_back(weight * re);
          expected.push_back(weight * im);
        }
      expect_near(z, expected, 1e-10, text("of ", n, " real numbers"));
      // Halving again what was doubled, and the inverse gives the numbers back.
      const Value back =
          emit(op::Fft{op::FftKind::ComplexToReal, true, 1, n, adjoint}, {z, 1.0 / static_cast<double>(n)});
      expect_near(back, x, 1e-10, text("back to ", n));
    }
}

}  // namespace
}  // namespace kiln::test
