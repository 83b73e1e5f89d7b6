// The folds of a reduction, and the kernels that compute them for one element type: of columns, where the reduced axis
// is strided and neighbouring results are contiguous, and of lines, where the reduced axis is contiguous.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/core/convert.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {

/// Squares is the sum of squares. Numbers is the sum of the elements that are not NaN. Length is the sum of squares,
/// whose root is the length (finish_fold()); those of doubles may leave the range, and are computed again with a scale.
enum class Fold : std::uint8_t { Sum, Prod, Max, Min, Squares, Numbers, Length };
constexpr bool accumulates(Fold fold) { return fold != Fold::Max && fold != Fold::Min; }
/// Returns the fold of a reduction. A mean is a sum until it is divided, and booleans are bytes.
constexpr Fold fold_of(op::ReduceFn fn) {
  switch (fn) {
    case op::ReduceFn::Prod: return Fold::Prod;
    case op::ReduceFn::Any:
    case op::ReduceFn::Max: return Fold::Max;
    case op::ReduceFn::All:
    case op::ReduceFn::Min: return Fold::Min;
    case op::ReduceFn::Length: return Fold::Length;
    default: return Fold::Sum;
  }
}
/// Returns how partial results are folded.
constexpr Fold combiner(Fold fold) { return accumulates(fold) && fold != Fold::Prod ? Fold::Sum : fold; }

/// The type in which elements of T are folded. Sums and products of floats are computed in double: the result is the
/// exact one rounded, except for sums of more than 2^29 terms or with heavy cancellation. If many floats are added,
/// groups of a few terms (partial_terms) are first added in float, unless that overflows. This changes a term by at
/// most
/// 1.5 * 2^-23 of itself, and as these errors cancel each other, their sum is far below the last rounding. Products of
/// floats that are subnormal as doubles may become 0. Sums of integers are int64 and wrap around.
template <class T, Fold fold>
using FoldType = std::conditional_t<accumulates(fold), std::conditional_t<std::is_integral_v<T>, std::int64_t, double>,
                                    std::conditional_t<is_half<T>, float, T>>;

/// Returns the most floats that are added in float at a time in a sum of `count` terms. The more terms a sum has, the
/// less each rounding matters.
constexpr std::int64_t partial_terms(std::int64_t count) { return count >= 256 ? 8 : count >= 64 ? 4 : 1; }

template <class T, Fold fold>
constexpr FoldType<T, fold> fold_start() {
  using Limits = std::numeric_limits<FoldType<T, fold>>;
  if (accumulates(fold)) return fold == Fold::Prod ? 1 : 0;
  if (fold == Fold::Max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// The kernels for one fold, written (+), of elements of one type T. Results are of the FoldType.
struct FoldKernel {
  DType folded;  // the FoldType
  /// Fills results with the neutral element.
  void (*start)(void* results, std::int64_t count);
  /// results[j] = results[j] (+) x[r * stride + j] for all r < rows and j < columns.
  void (*columns)(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, void* results);
  /// results[i] = results[i] (+) x[i * stride + k] for all i < lines and k < count. The bits are those that `columns`
  /// gives for each line as one column.
  void (*lines)(const void* x, std::int64_t lines, std::int64_t stride, std::int64_t count, void* results);
};
/// Returns the kernels for the instruction set of this machine. Booleans are folded as bytes. Squares and Numbers are
/// for floats and halves only: their bits are those that Sum gives for the squares, rounded to T, and for x with zeros
/// in the place of NaN. Length is for floats too: of doubles it is Squares; of others the squares are computed in double,
/// or in float where none of a group overflows and the largest of them keeps its digits.
const FoldKernel& fold_kernel(DType dtype, Fold fold);

/// The kernels for the types of one source.
const FoldKernel& float_fold_kernel(DType dtype, Fold fold);
const FoldKernel& half_fold_kernel(DType dtype, Fold fold);
const FoldKernel& integer_fold_kernel(DType dtype, Fold fold);

/// Makes `count` results of `fn` of what was folded, `of` elements each: means of sums, and lengths of sums of squares.
/// Results of other functions stay as they are, in any FoldType.
void finish_fold(op::ReduceFn fn, std::int64_t of, void* folded, std::int64_t count);

}  // namespace kiln::cpu::simd
