// What the kernels of products share: what they cost, and how they are turned over.
#pragma once
#include <cstdint>
#include <utility>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/product.hpp"

namespace kiln::cpu::simd {

/// What a product costs, in floating-point operations; the 12 stands for the traffic of thin matrices.
constexpr std::int64_t cost(std::int64_t m, std::int64_t n, std::int64_t k) { return 2 * k * (m + 12) * (n + 12); }
inline constexpr std::int64_t kWorthAPiece = 1 << 21;  // some 10 us
/// Columns of a piece that reads its matrix row by row, as it lies.
inline constexpr std::int64_t kMostInOrder = 1024;

inline Matrices transposed(Matrices x) {
  std::swap(x.row, x.column);
  return x;
}
/// c^T = b^T a^T
inline Product turned(Product p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  for (Matrices* x : {&p.a, &p.b, &p.c}) *x = transposed(*x);
  return p;
}
/// Products of bfloat16 or float16 with up to four rows or columns; false where there are more, or other kernels are as
/// good.
bool multiply_few_halves(Call call);

}  // namespace kiln::cpu::simd
