// Folding the rows of a matrix into one: the inner loop of every reduction.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/core/convert.hpp"

namespace kiln::cpu::simd {

/// Squares and Numbers are sums: of squares, and of what is no NaN.
enum class Fold : std::uint8_t { Sum, Prod, Max, Min, Squares, Numbers };
constexpr bool accumulates(Fold fold) { return fold != Fold::Max && fold != Fold::Min; }
/// How partial results are folded.
constexpr Fold joined(Fold fold) { return fold == Fold::Squares || fold == Fold::Numbers ? Fold::Sum : fold; }

/// What T is folded in. Sums and products of floats are taken in double: the result is the exact one rounded, but for
/// sums of more than 2^29 terms or heavy cancellation. Where many floats are added, a few at a time are added in float
/// first (near_terms), if that does not overflow: each of them counts as if it were off by 1.5 * 2^-23 of itself at most,
/// and as these roundings make up for one another, their sum is far below the last rounding. Products of floats below the
/// normal doubles may be taken for 0. Sums of integers are int64 and wrap around.
template <class T, Fold fold>
using FoldType = std::conditional_t<accumulates(fold), std::conditional_t<std::is_integral_v<T>, std::int64_t, double>,
                                    std::conditional_t<is_half<T>, float, T>>;

/// How many floats at most are added in float at a time, of so many: the more there are, the less each rounding counts.
constexpr std::int64_t near_terms(std::int64_t count) {
  return count >= 256 ? 8 : count >= 64 ? 4 : count >= 16 ? 2 : 1;
}

/// Elements that one partial result covers.
inline constexpr std::int64_t kFoldedPiece = 65536;

template <class T, Fold fold>
constexpr FoldType<T, fold> fold_start() {
  using Limits = std::numeric_limits<FoldType<T, fold>>;
  if (accumulates(fold)) return fold == Fold::Prod ? 1 : 0;
  if (fold == Fold::Max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// results[j] = results[j] (+) x[r * stride + j] for all r < rows and j < columns. T is any element type but bool, which
/// is folded as uint8. Squares and Numbers are for floats only: to the bit what Sum gives of the squares, rounded to T, and
/// of x with zeros in the place of NaN.
template <class T, Fold fold>
void fold_rows(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, FoldType<T, fold>* results);
/// results[i] = results[i] (+) x[i * stride + k] for all i < lines and k < count: to the bit what fold_rows gives of each
/// line as a column.
template <class T, Fold fold>
void fold_lines(const T* x, std::int64_t lines, std::int64_t stride, std::int64_t count, FoldType<T, fold>* results);

/// Sums become means.
void divide_by(double divisor, double* sums, std::int64_t count);

}  // namespace kiln::cpu::simd
