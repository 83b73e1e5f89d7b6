// Column reductions of a matrix, whose rows are folded into one, and the kernels of floats, doubles or halves, which
// are read as floats. Included once per target.
#if defined(KILN_SIMD_FOLD_COLUMNS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_FOLD_COLUMNS_HPP
#undef KILN_SIMD_FOLD_COLUMNS_HPP
#else
#define KILN_SIMD_FOLD_COLUMNS_HPP
#endif

#include <algorithm>
#include <numeric>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_line.hpp"
#include "kiln/backend/cpu/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// Replaces subnormal products of floats by 0: they are 0 as floats, and processors need a hundred cycles for each
/// operation with a subnormal double.
HWY_INLINE Vector<double> without_subnormals(Vector<double> x) {
  const Mask<double> subnormal = Vector<double>(hn::Abs(x.lanes)) < Vector<double>(std::numeric_limits<double>::min());
  return select(subnormal, Vector<double>(hn::And(x.lanes, hn::SignBit(Vector<double>::Tag()))), x);
}

/// The column reduction of rows that are `stride` apart.
template <class T, Fold fold>
struct FoldColumns : FoldVectors<T, fold> {
  using Vectors = FoldVectors<T, fold>;
  using typename Vectors::A, typename Vectors::N;
  using Vectors::kParts, Vectors::kOneType, Vectors::kVector, Vectors::kWidth;

  const T* x;
  std::int64_t rows, stride;
  bool by_four;  // whether four rows are folded in N before they are added

  /// Folds a strip of at most `vectors` vectors of N, whose results stay in registers while all rows are read. If the
  /// strip is not `full`, it has only the first `columns`.
  template <int vectors, bool full>
  void column_reduce_strip(std::int64_t row, std::int64_t count, std::int64_t column, std::int64_t columns,
                           A* results) const {
    constexpr std::int64_t kSums = vectors * kParts;
    const auto load = [&]<class X>(const T* from, std::int64_t i) HWY_ATTR {
      constexpr auto lanes = static_cast<std::int64_t>(kLanes<X>);
      if constexpr (full) return load_folded<fold, X>(from + i * lanes);
      else return load_first_as<X, fold>(from + i * lanes, columns - i * lanes);
    };
    Vector<A> sums[kSums];
    const auto load_results = [&]() HWY_ATTR {
      for (std::int64_t i = 0; i < kSums; ++i)
        if constexpr (full) sums[i] = Vector<A>::load(results + i * kVector);
        else sums[i] = load_first_as<A, Fold::Sum>(results + i * kVector, columns - i * kVector);
    };
    const auto fold_rows = [&](const T* from, std::int64_t some) HWY_ATTR {
      for (; some > 0; --some, from += stride)
        for (std::int64_t i = 0; i < kSums; ++i) sums[i] = step<fold>(sums[i], load.template operator()<A>(from, i));
    };
    const T *const first = x + row * stride + column, *from = first;
    const std::int64_t last = by_four ? count % 4 : count;
    load_results();
    for (std::int64_t left = count - last; left > 0; left -= 4, from += 4 * stride)
      for (std::int64_t i = 0; i < vectors; ++i) {
        const Vector<N> a = load.template operator()<N>(from, i), b = load.template operator()<N>(from + stride, i),
                        c = load.template operator()<N>(from + 2 * stride, i),
                        d = load.template operator()<N>(from + 3 * stride, i);
        Vectors::add(step<fold>(step<fold>(a, b), step<fold>(c, d)), sums + i * kParts);
        if constexpr (fold == Fold::Prod && !std::is_same_v<T, A>) sums[i] = without_subnormals(sums[i]);
      }
    fold_rows(from, last);
    if constexpr (!kOneType)
      if (last < count) {
        // An overflow in N is still visible here, as no later number makes the result finite again. Only the columns
        // that need it are folded again, so that no column's bits depend on another's numbers.
        Vector<A> quick[kSums];
        const auto again = [&](std::int64_t i) HWY_ATTR {
          const Mask<A> lacking = Vectors::lacks_digits(quick[i]);
          if constexpr (full) return lacking;
          // Lanes beyond the last column have the length 0.
          const auto here = static_cast<std::size_t>(std::clamp<std::int64_t>(columns - i * kVector, 0, kVector));
          return lacking & Mask<A>{hn::FirstN(hn::ScalableTag<A>(), here)};
        };
        bool exact = true;
        for (std::int64_t i = 0; i < kSums; ++i) {
          quick[i] = sums[i];
          exact = exact && !any(again(i));
        }
        if (!exact) {
          load_results(), fold_rows(first, count);
          for (std::int64_t i = 0; i < kSums; ++i) sums[i] = select(again(i), sums[i], quick[i]);
        }
      }
    for (std::int64_t i = 0; i < kSums; ++i) {
      if constexpr (full) {
        store(sums[i], results + i * kVector);
      } else {
        A numbers[kVector];
        store(sums[i], numbers);
        std::copy_n(numbers, std::clamp<std::int64_t>(columns - i * kVector, 0, kVector), results + i * kVector);
      }
    }
  }

  /// Folds `columns` columns, in strips of four vectors, of one, and of what is left. Rows that are a page or more
  /// apart are folded a few at a time, as processors prefetch from few pages at once.
  void fold_all(std::int64_t columns, A* results) const {
    constexpr std::int64_t kPage = 4096 / sizeof(T), kFew = 16;
    const std::int64_t most = stride < kPage ? rows : kFew;
    for (std::int64_t row = 0; row < rows; row += most) {
      const std::int64_t some = std::min(most, rows - row);
      std::int64_t i = 0;
      for (; i + 4 * kWidth <= columns; i += 4 * kWidth)
        column_reduce_strip<4, true>(row, some, i, 4 * kWidth, results + i);
      for (; i + kWidth <= columns; i += kWidth) column_reduce_strip<1, true>(row, some, i, kWidth, results + i);
      if (i < columns) column_reduce_strip<1, false>(row, some, i, columns - i, results + i);
    }
  }

  /// Folds contiguous rows of few columns. Some rows are read as one that fills vectors.
  void column_reduce_dividing(std::int64_t columns, A* results) const {
    std::int64_t together = kWidth / std::gcd(kWidth, columns);
    together *= divide_up(4 * kWidth, together * columns);
    const std::int64_t wide = together * columns, whole = rows / together;
    if (whole < 8) return fold_all(columns, results);
    A partial[kWidth * 4 * kWidth];
    std::fill_n(partial, wide, fold_start<T, fold>());
    FoldColumns{{}, x, whole, wide, by_four}.fold_all(wide, partial);
    for (std::int64_t i = 0; i < wide; i += columns)
      for (std::int64_t j = 0; j < columns; ++j) results[j] = step<fold>(results[j], partial[i + j]);
    FoldColumns{{}, x + whole * wide, rows - whole * together, columns, false}.fold_all(columns, results);
  }
};

/// FoldKernel::start, columns and lines.
template <class T, Fold fold>
void start(void* results, std::int64_t count) {
  std::fill_n(static_cast<FoldType<T, fold>*>(results), count, fold_start<T, fold>());
}
template <class T, Fold fold>
void fold_lines(const void* numbers, std::int64_t lines, std::int64_t stride, std::int64_t count, void* so_far) {
  using Columns = FoldColumns<T, fold>;
  using Line = FoldLine<T, fold>;
  constexpr int kVectors = Columns::kOneType ? 2 : 1;  // at least two vectors of A, so that neither waits for the other
  constexpr std::int64_t kTogether = kVectors * Columns::kWidth;
  const auto* x = static_cast<const T*>(numbers);
  auto* results = static_cast<FoldType<T, fold>*>(so_far);
  if constexpr (!is_half<T>)  // these take longer to transpose
    if (count < Line::kLeast) {
      // Short lines are transposed and folded as columns, so that no addition waits for the one before it.
      alignas(64) T turned[Line::kLeast * kTogether];
      for (; lines >= kTogether; lines -= kTogether, x += kTogether * stride, results += kTogether) {
        Transposer<T>::run(x, stride, turned, kTogether, kTogether, count);
        Columns{{}, turned, count, kTogether, false}.template column_reduce_strip<kVectors, true>(0, count, 0,
                                                                                                  kTogether, results);
      }
    }
  for (std::int64_t i = 0; i < lines; ++i) results[i] = Line::whole(x + i * stride, count, results[i]);
}
template <class T, Fold fold>
void fold_columns(const void* numbers, std::int64_t rows, std::int64_t stride, std::int64_t columns, void* so_far) {
  using Columns = FoldColumns<T, fold>;
  const auto* const x = static_cast<const T*>(numbers);
  auto* const results = static_cast<FoldType<T, fold>*>(so_far);
  if (columns > 1) {
    const Columns all{{}, x, rows, stride, Columns::kOneType || partial_terms(rows) >= 4};
    if (stride == columns && columns < 4 * Columns::kWidth && columns % Columns::kWidth != 0)
      all.column_reduce_dividing(columns, results);
    else all.fold_all(columns, results);
  } else if (stride == 1) {
    fold_lines<T, fold>(x, 1, 0, rows, results);
  } else {
    for (std::int64_t i = 0; i < rows; ++i)
      *results = step<fold>(*results, number_as<fold, FoldType<T, fold>>(x[i * stride]));
  }
}
template <class T, Fold fold>
inline constexpr FoldKernel kFoldKernel{dtype_of<FoldType<T, fold>>, start<T, fold>, fold_columns<T, fold>,
                                        fold_lines<T, fold>};
template <class T>
const FoldKernel* fold_kernel_of(Fold fold) {
  switch (fold) {
    case Fold::Sum: return &kFoldKernel<T, Fold::Sum>;
    case Fold::Prod: return &kFoldKernel<T, Fold::Prod>;
    case Fold::Max: return &kFoldKernel<T, Fold::Max>;
    case Fold::Min: return &kFoldKernel<T, Fold::Min>;
    case Fold::Squares: return &kFoldKernel<T, Fold::Squares>;
    case Fold::Numbers: return &kFoldKernel<T, Fold::Numbers>;
    case Fold::Length: return &kFoldKernel<T, Fold::Length>;
  }
  return nullptr;
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
