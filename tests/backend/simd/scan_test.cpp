// Running sums of exponentials against a loop in long double, of lines that lie one after the other and side by side.
#include <cmath>

#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

/// Of the lines of [outer, length, inner]; what is no number or infinite stays what logarithms of sums make of it.
std::vector<double> running(const std::vector<double>& x, std::int64_t outer, std::int64_t length, std::int64_t inner,
                            bool reverse) {
  std::vector<double> z(x.size());
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      long double largest = -INFINITY;
      std::vector<long double> terms;
      for (std::int64_t step = 0; step < length; ++step) {
        const auto at = static_cast<std::size_t>((o * length + (reverse ? length - 1 - step : step)) * inner + i);
        terms.push_back(x[at]);
        largest = largest != largest || x[at] != x[at] ? NAN : std::max<long double>(largest, x[at]);
        long double sum = 0;
        for (const long double term : terms) sum += std::isinf(largest) ? 0 : std::exp(term - largest);
        z[at] = static_cast<double>(std::isinf(largest) ? largest : largest + std::log(sum));
      }
    }
  return z;
}

TEST(SimdScan, AddsExponentialsUpInVectors) {
  for_each_target([] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const bool reverse : {false, true})
        for (const auto& [outer, length, inner] : std::initializer_list<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                                                     {3, 5, 1},
                                                                                                     {8, 20, 1},
                                                                                                     {19, 33, 1},
                                                                                                     {2, 9, 3},
                                                                                                     {1, 40, 8},
                                                                                                     {2, 12, 17},
                                                                                                     {1, 6, 300},
                                                                                                     {0, 4, 2}}) {
          SCOPED_TRACE(text(dtype, " ", outer, ", ", length, ", ", inner, reverse ? " reversed" : ""));
          const std::vector<double> x = rounded(dtype, random_numbers(outer * length * inner, -30, 30, 6));
          const Value z = run_op(op::Scan{.fn = op::ScanFn::LogSumExp, .dim = 1, .reverse = reverse},
                                 {tensor(dtype, {outer, length, inner}, x)});
          expect_close(numbers(z), running(x, outer, length, inner, reverse), 0, dtype == DType::F64 ? 1e-13 : 4e-6);
        }
  });
}

TEST(SimdScan, AddsUpWhatIsInfiniteOrNoNumber) {
  for_each_target([] {
    const std::vector<double> x{-INFINITY, -INFINITY, 1, INFINITY, 2, INFINITY, NAN, 3};
    const auto size = std::ssize(x);
    for (const auto& [outer, inner] : {std::pair{1, 1}, std::pair{1, 11}, std::pair{11, 1}}) {
      std::vector<double> all;
      for (std::int64_t o = 0; o < outer; ++o)
        for (const double number : x) all.insert(all.end(), static_cast<std::size_t>(inner), number);
      const Value z =
          run_op(op::Scan{.fn = op::ScanFn::LogSumExp, .dim = 1}, {tensor(DType::F64, {outer, size, inner}, all)});
      expect_close(numbers(z), running(all, outer, size, inner, false), 1e-15);
    }
  });
}

}  // namespace
}  // namespace kiln::cpu::simd
