// Helpers of the kernels of products: the cost of a product, thin products, and transposed ones.
#pragma once
#include <cstdint>
#include <utility>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/product.hpp"

namespace kiln::cpu::simd {

/// Returns the cost of a product in floating-point operations; the 12 stands for the memory traffic of thin matrices.
constexpr std::int64_t cost(std::int64_t m, std::int64_t n, std::int64_t k) { return 2 * k * (m + 12) * (n + 12); }
inline constexpr std::int64_t kMinOpsPerPiece = 1 << 21;  // some 10 us. bench: suite matmul_*
/// With at most this many rows or columns, a long sum is spread over all lanes of a vector instead of one.
inline constexpr std::int64_t kThin = 12;  // bench: sweep matmul, suite gpt2_124M_decode
inline bool is_thin(std::int64_t lines, std::int64_t k) { return 24 * lines <= k && lines <= kThin; }

/// The columns of a piece that reads its matrix row by row, in place.
inline constexpr std::int64_t kMostInOrder = 1024;  // bench: suite gpt2_124M_decode

inline Matrices transposed(Matrices x) {
  std::swap(x.row, x.column);
  return x;
}
/// Returns the product c^T = b^T a^T.
inline Product transposed(Product p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  for (Matrices* x : {&p.a, &p.b, &p.c}) *x = transposed(*x);
  return p;
}
}  // namespace kiln::cpu::simd
