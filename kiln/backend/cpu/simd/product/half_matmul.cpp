// A few vectors times a matrix of halves, with sums in float32.
#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/backend/cpu/simd/product/dots.hpp"
#include "kiln/backend/cpu/simd/product/matmul.hpp"
#include "kiln/backend/cpu/simd/product/parts.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

template <class H>
void multiply_few(Product p) {
  if (p.m > p.n) p = transposed(p);
  // The left operand of c^T = b^T a^T, or of c = a b, has the vectors; they are copied as consecutive rows of float32.
  const int64_t count = p.m, lines = p.n, k = p.k;
  std::vector<float> vectors(static_cast<std::size_t>(count * k));
  for (int64_t v = 0; v < count; ++v)
    for (int64_t l = 0; l < k; ++l)
      vectors[static_cast<std::size_t>(v * k + l)] =
          static_cast<float>(reinterpret_cast<const H*>(p.a.data)[v * p.a.row + l * p.a.column]);
  const auto* const matrix = reinterpret_cast<const H*>(p.b.data);
  const bool adds = p.b.by_rows() && (lines > 1 || p.b.row != 1);
  const int64_t size =
      adds ? std::clamp(round_up(divide_up(lines, num_threads()), 128), int64_t{128}, kMostInOrder) : 32;
  parallel_for(divide_up(lines, size), std::max<int64_t>(1, kMinOpsPerPiece / cost(count, size, k)),
               [&](int64_t begin, int64_t end) {
                 std::vector<float> results(static_cast<std::size_t>(count * size));
                 for (int64_t piece = begin; piece < end; ++piece) {
                   const int64_t first = piece * size, some = std::min(size, lines - first);
                   if (adds)
                     few_rows<H>()(vectors.data(), k, 1, count, matrix + first, p.b.row, some, k, results.data(), some);
                   else
                     dots<H>()(vectors.data(), k, matrix + first * p.b.column, p.b.column, results.data(), some, 1,
                               count, some, k, false);
                   auto* const to = reinterpret_cast<H*>(p.c.data);
                   for (int64_t v = 0; v < count; ++v)
                     for (int64_t i = 0; i < some; ++i)
                       to[v * p.c.row + (first + i) * p.c.column] = H(results[static_cast<std::size_t>(v * some + i)]);
                 }
               });
}

}  // namespace

bool multiply_converts(DType half) { return half == DType::BF16 ? dots<BF16>() != nullptr : dots<F16>() != nullptr; }

void multiply_few_halves(Product p) {
  if (p.dtype == DType::BF16) multiply_few<BF16>(std::move(p));
  else multiply_few<F16>(std::move(p));
}

}  // namespace kiln::cpu::simd
