// Folding the rows of a matrix into one: the inner loop of every reduction.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

namespace kiln::cpu::simd {

enum class Fold : std::uint8_t { Sum, Prod, Max, Min };

/// What T is folded in. Sums and products of floats are taken in double: the result is the exact one rounded, but for
/// sums of more than 2^29 terms or heavy cancellation.
template <class T, Fold fold>
using FoldType = std::conditional_t<fold == Fold::Sum || fold == Fold::Prod, double, T>;

template <class T, Fold fold>
constexpr FoldType<T, fold> fold_start() {
  constexpr auto infinity = std::numeric_limits<FoldType<T, fold>>::infinity();
  return fold == Fold::Sum ? 0 : fold == Fold::Prod ? 1 : fold == Fold::Max ? -infinity : infinity;
}

/// results[j] = results[j] (+) x[r * stride + j] for all r < rows and j < columns. T is float or double.
template <class T, Fold fold>
void fold_rows(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, FoldType<T, fold>* results);

}  // namespace kiln::cpu::simd
