// The inner loops of every reduction: fold_rows() for column reductions, where the reduced axis is strided and
// neighbouring results are contiguous, and fold_lines() for row reductions, where the reduced axis is contiguous. The
// reduction of one contiguous line is fold_rows() with one column and a stride of 1.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/core/convert.hpp"

namespace kiln::cpu::simd {

/// Squares is the sum of squares. Numbers is the sum of the elements that are not NaN.
enum class Fold : std::uint8_t { Sum, Prod, Max, Min, Squares, Numbers };
constexpr bool accumulates(Fold fold) { return fold != Fold::Max && fold != Fold::Min; }
/// Returns how partial results are folded.
constexpr Fold joined(Fold fold) { return fold == Fold::Squares || fold == Fold::Numbers ? Fold::Sum : fold; }

/// The type in which elements of T are folded. Sums and products of floats are computed in double: the result is the
/// exact one rounded, except for sums of more than 2^29 terms or with heavy cancellation. If many floats are added,
/// groups of a few terms (near_terms) are first added in float, unless that overflows. This changes a term by at most
/// 1.5 * 2^-23 of itself, and as these errors cancel each other, their sum is far below the last rounding. Products of
/// floats that are subnormal as doubles may become 0. Sums of integers are int64 and wrap around.
template <class T, Fold fold>
using FoldType = std::conditional_t<accumulates(fold), std::conditional_t<std::is_integral_v<T>, std::int64_t, double>,
                                    std::conditional_t<is_half<T>, float, T>>;

/// Returns the most floats that are added in float at a time in a sum of `count` terms. The more terms a sum has, the
/// less each rounding matters.
constexpr std::int64_t near_terms(std::int64_t count) {
  return count >= 256 ? 8 : count >= 64 ? 4 : count >= 16 ? 2 : 1;
}

/// The number of elements that one partial result covers.
inline constexpr std::int64_t kFoldedPiece = 65536;

template <class T, Fold fold>
constexpr FoldType<T, fold> fold_start() {
  using Limits = std::numeric_limits<FoldType<T, fold>>;
  if (accumulates(fold)) return fold == Fold::Prod ? 1 : 0;
  if (fold == Fold::Max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// Column reduction: results[j] = results[j] (+) x[r * stride + j] for all r < rows and j < columns, where (+) is
/// `fold`. T is any element type but bool, which is folded as uint8. Squares and Numbers are for floats only. Their
/// bits are those that Sum gives for the squares, rounded to T, and for x with zeros in the place of NaN.
template <class T, Fold fold>
void fold_rows(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, FoldType<T, fold>* results);
/// Row reduction: results[i] = results[i] (+) x[i * stride + k] for all i < lines and k < count. The bits are those
/// that fold_rows gives for each line as a column.
template <class T, Fold fold>
void fold_lines(const T* x, std::int64_t lines, std::int64_t stride, std::int64_t count, FoldType<T, fold>* results);

/// Divides `count` sums by `divisor`, which makes them means.
void divide_by(double divisor, double* sums, std::int64_t count);

}  // namespace kiln::cpu::simd
