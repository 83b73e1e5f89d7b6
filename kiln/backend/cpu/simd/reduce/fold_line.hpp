// Row reductions of one contiguous line, for reductions and for the ends of fused programs. Included once per target.
#if defined(KILN_SIMD_FOLD_LINE_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_FOLD_LINE_HPP
#undef KILN_SIMD_FOLD_LINE_HPP
#else
#define KILN_SIMD_FOLD_LINE_HPP
#endif

#include <algorithm>
#include <limits>

#include "kiln/backend/cpu/simd/reduce/fold_loads.hpp"
#include "kiln/ops/elementwise/scalar_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// NaN wins against every number in extremes.
template <Fold fold, class V>
HWY_INLINE V step(V a, V b) {
  using scalar_math::max, scalar_math::min;
  if constexpr (fold == Fold::Prod) return a * b;
  else if constexpr (fold == Fold::Max) return max(a, b);
  else if constexpr (fold == Fold::Min) return min(a, b);
  else return a + b;
}

/// How elements of T are folded in vectors: in N first, groups of partial_terms() elements at a time, and their results
/// in A. N is float for sums of floats and halves, and A otherwise.
template <class T, Fold fold>
struct FoldVectors {
  using A = FoldType<T, fold>;
  using N = std::conditional_t<std::is_same_v<Number<T>, float> && accumulates(fold) && fold != Fold::Prod, float, A>;
  static constexpr bool kOneType = std::is_same_v<N, A>;
  static constexpr auto kVector = static_cast<std::int64_t>(kLanes<A>), kWidth = static_cast<std::int64_t>(kLanes<N>);
  static constexpr std::int64_t kParts = kWidth / kVector;  // the vectors of A for one vector of N

  /// Folds a vector of N into kParts vectors of A.
  static HWY_INLINE void add(Vector<N> x, Vector<A>* sums) {
    if constexpr (kOneType) {
      *sums = step<fold>(*sums, x);
    } else {
      alignas(64) N numbers[kWidth];  // halves of vectors are cheaper to load than to extract
      store(x, numbers);
      for (std::int64_t i = 0; i < kParts; ++i) sums[i] = sums[i] + load_as<A>(numbers + i * kVector);
    }
  }
  /// Sums of squares from here on have all digits, though squares of smaller elements were rounded to 0 in N.
  static constexpr float kLeastSquares = 0x1p-80F;
  /// Returns whether all lanes are finite. A sum in N that overflows is infinite or NaN from then on.
  template <class X>
  static HWY_INLINE bool is_finite(Vector<X> x) {
    return hn::AllTrue(hn::ScalableTag<X>(), hn::IsFinite(x.lanes));
  }
  /// Returns whether terms that were added in N, in lanes of one result, have the digits that they would have in A.
  static HWY_INLINE bool has_digits(Vector<N> x) {
    if constexpr (fold == Fold::Length) return is_finite(x) && any(x >= Vector<N>(kLeastSquares));
    else return is_finite(x);
  }
  /// The lanes of different results whose terms, added in N, lack digits that they would have in A.
  static HWY_INLINE Mask<A> lacks_digits(Vector<A> sums) {
    const Mask<A> infinite = !Mask<A>{hn::IsFinite(sums.lanes)};
    if constexpr (fold == Fold::Length) return infinite | (sums < Vector<A>(kLeastSquares));
    else return infinite;
  }
};

/// Folds the lanes of a vector.
template <Fold fold, class A>
HWY_INLINE A fold_lanes(Vector<A> x) {
  const hn::ScalableTag<A> tag;
  if constexpr (fold == Fold::Prod) {
    A lanes[kLanes<A>], all = 1;
    store(x, lanes);
    for (const A lane : lanes) all *= lane;
    return all;
  } else if constexpr (accumulates(fold)) {
    return hn::GetLane(hn::SumOfLanes(tag, x.lanes));
  } else {
    if (any(is_nan(x))) return std::numeric_limits<A>::quiet_NaN();
    return hn::GetLane(fold == Fold::Max ? hn::MaxOfLanes(tag, x.lanes) : hn::MinOfLanes(tag, x.lanes));
  }
}

/// The row reduction of contiguous elements. It folds a block of eight vectors lane by lane, and the result with the
/// lanes of the blocks before. If the last elements do not fill a block, they are put at its end, so that a caller that
/// folds elements as they come may use a block that begins earlier.
template <class T, Fold fold>
struct FoldLine : FoldVectors<T, fold> {
  using Vectors = FoldVectors<T, fold>;
  using typename Vectors::A, typename Vectors::N;
  using Vectors::kParts, Vectors::kOneType, Vectors::kVector, Vectors::kWidth;
  static constexpr std::int64_t kBlock = 8 * kWidth;
  /// Shorter lines are folded one element after the other, several lines at a time.
  static constexpr std::int64_t kLeast = 2 * kWidth;

  /// Folds a block into kWidth lanes. `near` is partial_terms() of the whole line.
  static HWY_INLINE void take_block(const T* x, A* lanes, std::int64_t near) {
    Vector<A> sums[kParts];
    load_lanes(lanes, sums);
    fold_block<true>(x, kBlock, near, sums);
    store_lanes(sums, lanes);
  }
  /// Folds the last `count` elements of a block.
  static HWY_INLINE void take_end(const T* block, std::int64_t count, A* lanes, std::int64_t near) {
    Vector<A> sums[kParts];
    load_lanes(lanes, sums);
    fold_block<false>(block + kBlock - count, count, near, sums);
    store_lanes(sums, lanes);
  }
  /// Folds the whole blocks of `count` elements. Returns the number of elements in these blocks.
  static HWY_INLINE std::int64_t take(const T* x, std::int64_t count, A* lanes, std::int64_t near) {
    Vector<A> sums[kParts];
    load_lanes(lanes, sums);
    std::int64_t at = 0;
    for (; at + kBlock <= count; at += kBlock) fold_block<true>(x + at, kBlock, near, sums);
    store_lanes(sums, lanes);
    return at;
  }
  /// Folds the last elements, fewer than a block, and then all lanes into one result.
  static HWY_INLINE A finish(const T* x, std::int64_t count, A* lanes, std::int64_t near) {
    Vector<A> sums[kParts];
    load_lanes(lanes, sums);
    if (count > 0) fold_block<false>(x, count, near, sums);
    return total(sums);
  }
  /// Folds a whole line at once into `so_far`. The bits of a line of kLeast elements or more are those of take() and
  /// finish().
  static HWY_INLINE A whole(const T* x, std::int64_t count, A so_far) {
    if (count < kLeast) {
      for (std::int64_t i = 0; i < count; ++i) so_far = step<fold>(so_far, number_as<fold, A>(x[i]));
      return so_far;
    }
    if constexpr (kOneType || fold == Fold::Length) return step<fold>(so_far, whole_line<true>(x, count));
    // An overflow in N makes the total infinite or NaN: then the line is folded again, with checks.
    const A total = whole_line<false>(x, count);
    return step<fold>(so_far, total - total == 0 ? total : checked_line(x, count));
  }

 private:
  static HWY_NOINLINE A checked_line(const T* x, std::int64_t count) { return whole_line<true>(x, count); }
  template <bool checks>
  static HWY_INLINE A whole_line(const T* x, std::int64_t count) {
    Vector<A> sums[kParts];
    for (Vector<A>& part : sums) part = Vector<A>(fold_start<T, fold>());
    const std::int64_t near = partial_terms(count);
    for (; count >= kBlock; count -= kBlock, x += kBlock) fold_block<true, checks>(x, kBlock, near, sums);
    if (count > 0) fold_block<false, checks>(x, count, near, sums);
    return total(sums);
  }
  static HWY_INLINE void load_lanes(const A* lanes, Vector<A>* sums) {
    for (std::int64_t i = 0; i < kParts; ++i) sums[i] = Vector<A>::load(lanes + i * kVector);
  }
  static HWY_INLINE void store_lanes(const Vector<A>* sums, A* lanes) {
    for (std::int64_t i = 0; i < kParts; ++i) store(sums[i], lanes + i * kVector);
  }
  static HWY_INLINE A total(Vector<A>* sums) {
    for (std::int64_t parts = kParts / 2; parts > 0; parts /= 2)
      for (std::int64_t i = 0; i < parts; ++i) sums[i] = step<fold>(sums[i], sums[i + parts]);
    return fold_lanes<fold>(sums[0]);
  }

  /// Folds vectors [first, first + count) of a block in pairs. Vectors before number `missing` do not exist. load(k)
  /// returns vector k.
  template <int first, int count, class Load>
  static HWY_INLINE auto in_pairs(std::int64_t missing, Load&& load) {
    if constexpr (count == 1) {
      return load(first);
    } else {
      constexpr int half = count / 2;
      if (missing >= first + half) return in_pairs<first + half, half>(missing, load);
      const auto left = in_pairs<first, half>(missing, load);  // loads in the order of memory, as it is prefetched
      return step<fold>(left, in_pairs<first + half, half>(missing, load));
    }
  }
  /// Folds the last `count` elements of a block, which begin at x: all of them if it is `full`. Sums in N that lack
  /// digits are replaced by exact ones if it `checks`.
  template <bool full, bool checks = true>
  static HWY_INLINE void fold_block(const T* x, std::int64_t count, std::int64_t near, Vector<A>* sums) {
    const std::int64_t missing = full ? 0 : 8 - (count + kWidth - 1) / kWidth;
    const T *const block = x - (kBlock - count), *first = block + missing * kWidth;
    alignas(64) Stored<T> kept[full ? 1 : kWidth];  // the first vector, if its first lanes are not in memory
    if (!full && first < x) {
      copy_behind<N>(first, x - first, static_cast<T>(fold_start<T, fold>()), kept);
      first = reinterpret_cast<const T*>(kept);
    }
    const auto loads = [&]<class X>(std::int64_t part) HWY_ATTR {
      return [=](std::int64_t k)
                 HWY_ATTR { return load_folded<fold, X>((!full && k == missing ? first : block + k * kWidth) + part); };
    };
    if constexpr (!kOneType)
      if (near >= 4) {
        const auto load = loads.template operator()<N>(0);
        const Vector<N> low = missing < 4 ? in_pairs<0, 4>(missing, load) : Vector<N>(0);
        const Vector<N> high = in_pairs<4, 4>(missing, load), all = low + high;
        if (!checks || Vectors::has_digits(all)) {
          if (near == 8) return Vectors::add(all, sums);
          Vector<A> both[kParts];
          for (Vector<A>& part : both) part = Vector<A>(0);
          Vectors::add(low, both), Vectors::add(high, both);
          for (std::int64_t i = 0; i < kParts; ++i) sums[i] = sums[i] + both[i];
          return;
        }
      }
    for (std::int64_t i = 0; i < kParts; ++i)
      sums[i] = step<fold>(sums[i], in_pairs<0, 8>(missing, loads.template operator()<A>(i * kVector)));
  }
};

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
