// Column reductions of a matrix, whose rows are folded into one, and row reductions, which fold each of many lines into
// one number. Elements are floats, doubles or halves, which are read as floats. Included once per target.
#if defined(KILN_SIMD_FOLD_MATRIX_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_FOLD_MATRIX_HPP
#undef KILN_SIMD_FOLD_MATRIX_HPP
#else
#define KILN_SIMD_FOLD_MATRIX_HPP
#endif

#include <algorithm>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_line.hpp"
#include "kiln/backend/cpu/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// Column reduction of contiguous rows, one element after the other: for the few elements that other strategies leave.
template <Fold fold, class T, class A>
HWY_INLINE void fold_in_order(const T* x, std::int64_t count, std::int64_t columns, A* results) {
  for (std::int64_t i = 0; i < count; i += columns)
    for (std::int64_t j = 0; j < columns; ++j) results[j] = step<fold>(results[j], number_as<fold, A>(x[i + j]));
}
/// Replaces subnormal products of floats by 0: they are 0 as floats, and processors need a hundred cycles for each
/// operation with a subnormal double.
template <class T, Fold fold, class A>
HWY_INLINE Vector<A> without_subnormals(Vector<A> sum) {
  if constexpr (fold != Fold::Prod || std::is_same_v<T, A>) return sum;
  const hn::ScalableTag<A> tag;
  const Mask<A> subnormal = Vector<A>(hn::Abs(sum.lanes)) < Vector<A>(std::numeric_limits<A>::min());
  return select(subnormal, Vector<A>(hn::And(sum.lanes, hn::SignBit(tag))), sum);
}

/// Column reduction of a strip of `Vectors` vectors of NearType: their results stay in registers while all rows are
/// read. `near` rows at a time, at most 4, are folded in NearType first.
template <class T, Fold fold, std::size_t Vectors, class A>
void fold_strip(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t near, A* results) {
  using N = NearType<T, fold>;
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>), width = static_cast<std::int64_t>(kLanes<N>);
  constexpr std::size_t wide = kLanes<N> / kLanes<A>, count = Vectors * wide;
  constexpr bool kSame = std::is_same_v<N, A>, kCertain = kSame && accumulates(fold);
  Vector<A> sums[count];
  const auto load_results = [&]() HWY_ATTR {
    for (std::size_t i = 0; i < count; ++i) sums[i] = Vector<A>::load(results + static_cast<std::int64_t>(i) * lanes);
  };
  const auto fold_exactly = [&](const T* from, std::int64_t some) HWY_ATTR {
    for (; some > 0; --some, from += stride)
      for (std::size_t i = 0; i < count; ++i)
        sums[i] = step<fold>(sums[i], load_folded<fold, A>(from + static_cast<std::int64_t>(i) * lanes));
  };
  const auto add = [&](std::size_t i, Vector<N> all) HWY_ATTR {
    each_wide<A>(all, [&](std::int64_t k, Vector<A> part) HWY_ATTR {
      Vector<A>& sum = sums[i * wide + static_cast<std::size_t>(k / lanes)];
      sum = step<fold>(sum, part);
    });
  };
  load_results();
  std::int64_t left = rows;
  const T* from = x;
  Vector<N> checks[Vectors];
  if constexpr (!accumulates(fold)) std::copy_n(sums, count, checks);
  if (near >= 4 || kSame)
    for (; left >= 4; left -= 4, from += 4 * stride)
      for (std::size_t i = 0; i < Vectors; ++i) {
        const T* const at = from + static_cast<std::int64_t>(i) * width;
        const Vector<N> a = load_folded<fold, N>(at), b = load_folded<fold, N>(at + stride),
                        c = load_folded<fold, N>(at + 2 * stride), d = load_folded<fold, N>(at + 3 * stride);
        const Vector<N> all = step_numbers<fold>(step_numbers<fold>(a, b), step_numbers<fold>(c, d));
        if constexpr (accumulates(fold)) {
          add(i, all);
          if (fold == Fold::Prod && left % 16 < 4) sums[i] = without_subnormals<T, fold>(sums[i]);
        } else {
          sums[i] = step_numbers<fold>(sums[i], all);
          checks[i] = checks[i] + ((a + b) + (c + d));
        }
      }
  else if (near == 2)
    for (; left >= 2; left -= 2, from += 2 * stride)
      for (std::size_t i = 0; i < Vectors; ++i) {
        const T* const at = from + static_cast<std::int64_t>(i) * width;
        add(i, load_folded<fold, N>(at) + load_folded<fold, N>(at + stride));
      }
  fold_exactly(from, left);
  if (!kCertain && (near > 1 || kSame)) {
    // An overflow or a NaN in NearType is still visible here, as no later number makes the result finite again.
    bool hold = true;
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (accumulates(fold)) hold = hold && holds<fold>(sums[i]);
      else hold = hold && holds<fold>(checks[i]);
    }
    if (!hold) {
      load_results();
      fold_exactly(x, rows);
    }
  }
  for (std::size_t i = 0; i < count; ++i) store(sums[i], results + static_cast<std::int64_t>(i) * lanes);
}

/// Column reduction of contiguous rows whose length divides four vectors.
template <class T, Fold fold, class A>
HWY_INLINE void fold_dense(const T* x, std::int64_t count, std::int64_t columns, A* results) {
  constexpr std::size_t vectors = 4 * kLanes<A> / kLanes<NearType<T, fold>>;
  constexpr auto width = static_cast<std::int64_t>(4 * kLanes<A>);
  A partial[width];
  std::fill_n(partial, width, fold_start<T, fold>());
  const std::int64_t rows = count / width;
  fold_strip<T, fold, vectors>(x, rows, width, near_terms(count / columns), partial);
  fold_in_order<joined(fold)>(partial, width, columns, results);
  fold_in_order<fold>(x + rows * width, count % width, columns, results);
}

/// Column reduction of contiguous rows with few columns, whose length need not divide a vector: a group of as many
/// vectors as there are columns holds a whole number of rows.
template <class T, Fold fold, class A>
HWY_INLINE void fold_few(const T* x, std::int64_t count, std::int64_t columns, A* results) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>);
  const std::int64_t width = columns * lanes;
  A partial[2 * lanes * lanes];
  std::fill_n(partial, width, fold_start<T, fold>());
  for (; count >= width; count -= width)
    for (A* sums = partial; sums < partial + width; sums += lanes, x += lanes)
      store(step<fold>(Vector<A>::load(sums), load_folded<fold, A>(x)), sums);
  fold_in_order<joined(fold)>(partial, width, columns, results);
  fold_in_order<fold>(x, count, columns, results);
}

/// Column reduction of `Vectors` vectors of columns, of which the last has `last` numbers: results stay in registers
/// while all rows are read.
template <class T, Fold fold, std::size_t Vectors, class A>
void fold_vectors(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t last, A* results) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>), whole = static_cast<std::int64_t>(Vectors) - 1;
  Vector<A> sums[Vectors];
  for (std::int64_t i = 0; i < whole; ++i) sums[i] = Vector<A>::load(results + i * lanes);
  sums[whole] = load_first_as<A>(results + whole * lanes, last);
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    for (std::int64_t i = 0; i < whole; ++i) sums[i] = step<fold>(sums[i], load_folded<fold, A>(x + i * lanes));
    sums[whole] = step<fold>(sums[whole], load_first_as<A, fold>(x + whole * lanes, last));
  }
  for (std::int64_t i = 0; i < whole; ++i) store(sums[i], results + i * lanes);
  A numbers[lanes];
  store(sums[whole], numbers);
  std::copy_n(numbers, last, results + whole * lanes);
}

/// Column reduction of strided rows with fewer than 64 columns.
template <class T, Fold fold, class A>
HWY_INLINE void fold_narrow(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, A* results) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>);
  if (columns == 1) {
    A so_far = *results;
    for (std::int64_t row = 0; row < rows; ++row) so_far = step<fold>(so_far, number_as<fold, A>(x[row * stride]));
    *results = so_far;
    return;
  }
  for (std::int64_t column = 0; column < columns;) {
    const auto next = [&]<std::size_t vectors>(std::integral_constant<std::size_t, vectors>) {
      const auto most = static_cast<std::int64_t>(vectors) * lanes, count = std::min(columns - column, most);
      fold_vectors<T, fold, vectors>(x + column, rows, stride, count - most + lanes, results + column);
      column += count;
    };
    switch (std::min<std::int64_t>((columns - column + lanes - 1) / lanes, 4)) {
      case 1: next(std::integral_constant<std::size_t, 1>()); break;
      case 2: next(std::integral_constant<std::size_t, 2>()); break;
      case 3: next(std::integral_constant<std::size_t, 3>()); break;
      default: next(std::integral_constant<std::size_t, 4>());
    }
  }
}

/// Column reduction of rows with many columns, a vector at a time. Rows that are a page or more apart are folded a few
/// at a time, as processors prefetch from few pages at once.
template <class T, Fold fold, class A>
HWY_INLINE void fold_wide(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, A* results) {
  constexpr auto width = static_cast<std::int64_t>(kLanes<NearType<T, fold>>);
  constexpr std::int64_t kPage = 4096 / sizeof(T), kFew = 16;  // kFew is a multiple of 4, as `near` is at most 4
  const std::int64_t near = near_terms(rows), whole = columns - columns % width, most = stride < kPage ? rows : kFew;
  for (std::int64_t row = 0; row < rows; row += most)
    for (std::int64_t column = 0; column < whole; column += width)
      fold_strip<T, fold, 1>(x + row * stride + column, std::min(most, rows - row), stride, near, results + column);
  fold_narrow<T, fold>(x + whole, rows, stride, columns - whole, results + whole);
}

template <class T, Fold fold>
void fold_matrix(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, FoldType<T, fold>* results) {
  constexpr auto width = static_cast<std::int64_t>(4 * kLanes<FoldType<T, fold>>);
  if (stride == 1 && columns == 1 && rows >= FoldLine<T, fold>::kLeast)
    *results = FoldLine<T, fold>::whole(x, rows, *results);
  else if (stride == columns && columns > 1 && width % columns == 0 && rows * columns >= 2 * width &&
           !is_left_out(Algorithm::FoldDense))
    fold_dense<T, fold>(x, rows * columns, columns, results);
  else if (stride == columns && columns > 1 && columns < width / 2 && rows * columns >= width * columns &&
           !is_left_out(Algorithm::FoldFew))
    fold_few<T, fold>(x, rows * columns, columns, results);
  else if (columns < 64) fold_narrow<T, fold>(x, rows, stride, columns, results);
  else fold_wide<T, fold>(x, rows, stride, columns, results);
}

/// Row reduction of contiguous lines. Short lines are transposed and folded several at a time, so that no addition
/// waits for the one before it.
template <class T, Fold fold>
void fold_each_line(const T* x, std::int64_t lines, std::int64_t stride, std::int64_t count,
                    FoldType<T, fold>* results) {
  using Line = FoldLine<T, fold>;
  using A = FoldType<T, fold>;
  if (count >= Line::kLeast) {
    for (std::int64_t i = 0; i < lines; ++i) results[i] = Line::whole(x + i * stride, count, results[i]);
    return;
  }
  constexpr auto kTogether = static_cast<std::int64_t>(2 * kLanes<A>);
  alignas(64) Stored<T> turned[Line::kLeast * kTogether];
  const bool together = !is_left_out(Algorithm::FoldShortLines);
  for (; together && lines >= kTogether; lines -= kTogether, x += kTogether * stride, results += kTogether) {
    Transposer<Stored<T>>::run(stored(x), stride, turned, kTogether, kTogether, count);
    fold_vectors<T, fold, 2>(reinterpret_cast<const T*>(turned), count, kTogether, kTogether / 2, results);
  }
  for (std::int64_t i = 0; i < lines; ++i) fold_narrow<T, fold>(x + i * stride, count, 1, 1, results + i);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
