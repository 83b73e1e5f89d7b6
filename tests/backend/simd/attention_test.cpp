#include <cmath>

#include "kiln/backend/cpu/simd/attention/attention.hpp"

#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

/// One head: shares[i][j] of keys, and the logarithm of each query's sum.
struct Shares {
  std::vector<std::vector<double>> shares;
  std::vector<double> log_sums;
};
Shares shares_of(const std::vector<double>& q, const std::vector<double>& k, std::int64_t queries, std::int64_t keys,
                 std::int64_t width, double scale) {
  Shares result;
  for (std::int64_t i = 0; i < queries; ++i) {
    std::vector<double> row;
    double total = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t p = 0; p < width; ++p)
        score += scale * q[static_cast<std::size_t>(i * width + p)] * k[static_cast<std::size_t>(j * width + p)];
      row.push_back(std::exp(score));
      total += row.back();
    }
    for (double& share : row) share /= total;
    result.shares.push_back(row);
    result.log_sums.push_back(std::log(total));
  }
  return result;
}

TEST(SimdAttention, MixesValuesAndSplitsGradientsOnEveryTarget) {
  constexpr std::int64_t keys = 150;
  for_each_target([] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const std::int64_t queries : {1, 7, 100})
        for (const std::int64_t width : {1, 5, 16, 33}) {
          const auto random = [&](std::int64_t rows, std::uint64_t seed) {
            return rounded(dtype, random_numbers(rows * width, -1, 1, seed));
          };
          const auto q = random(queries, 1), k = random(keys, 2), v = random(keys, 3), g = random(queries, 4);
          const double scale = 0.5;
          const Shares known = shares_of(q, k, queries, keys, width, scale);
          const auto at = [&](const std::vector<double>& x, std::int64_t row, std::int64_t p) {
            return x[static_cast<std::size_t>(row * width + p)];
          };
          std::vector<double> output(q.size()), delta(static_cast<std::size_t>(queries)), dq(q.size()), dk(k.size()),
              dv(k.size());
          for (std::int64_t i = 0; i < queries; ++i)
            for (std::int64_t p = 0; p < width; ++p) {
              double& sum = output[static_cast<std::size_t>(i * width + p)];
              for (std::int64_t j = 0; j < keys; ++j)
                sum += known.shares[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] * at(v, j, p);
              delta[static_cast<std::size_t>(i)] += sum * at(g, i, p);
            }
          for (std::int64_t i = 0; i < queries; ++i)
            for (std::int64_t j = 0; j < keys; ++j) {
              const double share = known.shares[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
              double slope = -delta[static_cast<std::size_t>(i)];
              for (std::int64_t p = 0; p < width; ++p) slope += at(g, i, p) * at(v, j, p);
              for (std::int64_t p = 0; p < width; ++p) {
                dv[static_cast<std::size_t>(j * width + p)] += share * at(g, i, p);
                dq[static_cast<std::size_t>(i * width + p)] += share * slope * scale * at(k, j, p);
                dk[static_cast<std::size_t>(j * width + p)] += share * slope * scale * at(q, i, p);
              }
            }
          const double relative = dtype == DType::F64 ? 1e-12 : 1e-5, absolute = dtype == DType::F64 ? 1e-13 : 2e-6;
          const auto head = [&](const std::vector<double>& x, std::int64_t rows) {
            return tensor(dtype, {1, 1, rows, width}, x, {0, 1, 3, 2});
          };
          const auto rows = [&](const std::vector<double>& x) { return tensor(dtype, {1, 1, queries}, x); };
          const std::vector<Value> in{head(q, queries), head(k, keys), head(v, keys), {}, {}, Value(scale), {}};
          expect_close(numbers(run_op(op::Attention{}, in, 2, 0)), output, relative, absolute);
          expect_close(numbers(run_op(op::Attention{}, in, 2, 1)), known.log_sums, relative, absolute);
          std::vector<Value> backward = in;
          backward.insert(backward.end(), {head(g, queries), rows(known.log_sums), rows(delta), {}});
          const std::vector<double>* const expected[] = {&dq, &dk, &dv};
          for (int i = 0; i < 3; ++i)
            expect_close(numbers(run_op(op::AttentionGrad{}, backward, 3, i)), *expected[i], relative * 10,
                         absolute * 10);
        }
  });
}

}  // namespace
}  // namespace kiln::cpu::simd
