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

template <Fold fold, class V>
HWY_INLINE V step(V a, V b) {
  using scalar_math::max, scalar_math::min;
  if constexpr (fold == Fold::Prod) return a * b;
  else if constexpr (fold == Fold::Max) return max(a, b);
  else if constexpr (fold == Fold::Min) return min(a, b);
  else return a + b;
}

/// Whether the Max and Min instructions are a > b ? a : b and a < b ? a : b to the bit, also for NaN.
inline constexpr bool kTakesSecond = HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

/// Folds the lanes of a vector: the first half of them with the second half, and so on.
#if HWY_TARGET == HWY_SCALAR
template <Fold fold, class D>
HWY_INLINE hn::TFromD<D> fold_lanes(D, hn::Vec<D> x) {
  return hn::GetLane(x);
}
#else
template <Fold fold, bool may_be_nan, class D>
HWY_INLINE hn::TFromD<D> fold_halves(D, hn::Vec<D> x) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(x);
  } else {
    const hn::Half<D> half;
    const auto a = hn::LowerHalf(half, x), b = hn::UpperHalf(half, x);
    const auto both = [&]() HWY_ATTR {
      if constexpr (fold == Fold::Prod) return hn::Mul(a, b);
      else if constexpr (accumulates(fold)) return hn::Add(a, b);
      else if constexpr (!may_be_nan && kTakesSecond) return fold == Fold::Max ? hn::Max(a, b) : hn::Min(a, b);
      else {
        const auto first = fold == Fold::Max ? hn::Gt(a, b) : hn::Lt(a, b);
        return hn::IfThenElse(hn::Or(first, hn::IsNaN(a)), a, b);
      }
    }();
    return fold_halves<fold, may_be_nan>(half, both);
  }
}
template <Fold fold, class D>
HWY_INLINE hn::TFromD<D> fold_lanes(D tag, hn::Vec<D> x) {
  if (!accumulates(fold) && !hn::AllFalse(tag, hn::IsNaN(x))) return fold_halves<fold, true>(tag, x);
  return fold_halves<fold, false>(tag, x);
}
#endif

/// The type in which groups of a few elements are folded first: float for sums of floats, which are then added in
/// FoldType.
template <class T, Fold fold>
using NearType = std::conditional_t<std::is_same_v<Number<T>, float> && accumulates(fold) && fold != Fold::Prod, float,
                                    FoldType<T, fold>>;

/// step() for operands of which neither is NaN.
template <Fold fold, class N>
HWY_INLINE Vector<N> step_numbers(Vector<N> a, Vector<N> b) {
  if constexpr (accumulates(fold)) return step<fold>(a, b);
  else if constexpr (kTakesSecond) return fold == Fold::Max ? hn::Max(a.lanes, b.lanes) : hn::Min(a.lanes, b.lanes);
  else return fold == Fold::Max ? select(a > b, a, b) : select(a < b, a, b);
}
/// Returns whether results of step_numbers() are valid. `sum` is a sum of the same numbers, which is NaN if one of them
/// is NaN. Sums must also be finite: where they overflow in N, they may be finite in FoldType.
template <Fold fold, class N>
HWY_INLINE bool holds(Vector<N> sum) {
  const Vector<N> largest = std::numeric_limits<N>::max(), size = hn::Abs(sum.lanes);
  return !any(accumulates(fold) ? !(size <= largest) : is_nan(sum));
}

/// Calls f(i, vector) for the numbers of x from number i on, converted to vectors of A.
template <class A, class N, class F>
HWY_INLINE void each_wide(Vector<N> x, F&& f) {
  if constexpr (std::is_same_v<A, N>) {
    f(0, x);
  } else {
    alignas(64) N numbers[kLanes<N>];
    store(x, numbers);
    for (std::size_t i = 0; i < kLanes<N>; i += kLanes<A>) f(static_cast<std::int64_t>(i), load_as<A>(numbers + i));
  }
}

/// The strategy for row reductions of contiguous elements. It folds a block of eight vectors lane by lane, and the
/// result with the lanes of the blocks before. If the last elements do not fill a block, they are put at its end, so
/// that a caller that folds elements as they come may use a block that begins earlier.
template <class T, Fold fold>
struct FoldLine {
  using A = FoldType<T, fold>;
  static constexpr auto kVector = static_cast<std::int64_t>(kLanes<A>);
  static constexpr auto kWidth = static_cast<std::int64_t>(kLanes<Number<T>>), kBlock = 8 * kWidth;
  /// Shorter lines are folded one element after the other, which is faster.
  static constexpr std::int64_t kLeast = kBlock / 4;

  /// Folds a block into kWidth lanes. `near` is near_terms() of the whole line.
  static HWY_INLINE void take_block(const T* x, A* lanes, std::int64_t near) {
    for (std::int64_t i = 0; i < kWidth; i += kNear) {
      Vector<A> parts[kWide];
      for (std::int64_t part = 0; part < kWide; ++part) parts[part] = Vector<A>::load(lanes + i + part * kVector);
      take_eight(near, x + i, parts);
      for (std::int64_t part = 0; part < kWide; ++part) store(parts[part], lanes + i + part * kVector);
    }
  }
  /// Folds the last `count` elements of a block; the others are overwritten with the neutral element.
  static HWY_INLINE void take_end(T* block, std::int64_t count, A* lanes, std::int64_t near) {
    std::fill_n(block, kBlock - count, static_cast<T>(fold_start<T, fold>()));
    take_block(block, lanes, near);
  }
  /// Folds the whole blocks of `count` elements. Returns the number of elements in these blocks.
  static HWY_INLINE std::int64_t take(const T* x, std::int64_t count, A* lanes, std::int64_t near) {
    std::int64_t at = 0;
    for (; at + kBlock <= count; at += kBlock) take_block(x + at, lanes, near);
    return at;
  }
  /// Folds the last elements, and then all lanes into one result.
  static HWY_INLINE A finish(const T* x, std::int64_t count, A* lanes, std::int64_t near, A so_far) {
    const std::int64_t taken = take(x, count, lanes, near);
    if (taken < count) {
      T last[kBlock];
      std::copy(x + taken, x + count, last + kBlock - (count - taken));
      take_end(last, count - taken, lanes, near);
    }
    for (std::int64_t width = kWidth / 2; width > 0; width /= 2)
      for (std::int64_t i = 0; i < width; ++i) lanes[i] = step<fold>(lanes[i], lanes[i + width]);
    return step<fold>(so_far, lanes[0]);
  }
  /// Folds a whole line at once, to the same bits as take() and finish().
  static HWY_INLINE A whole(const T* x, std::int64_t count, A so_far) {
    if (kSame || near_terms(count) < 4) return whole_line<true>(x, count, so_far);
    // An overflow in NearType makes the total infinite or NaN: then the line is folded again, with checks.
    const A total = whole_line<false>(x, count, so_far);
    return total - total == 0 ? total : checked_line(x, count, so_far);
  }

 private:
  using N = NearType<T, fold>;
  static constexpr auto kNear = static_cast<std::int64_t>(kLanes<N>), kWide = kNear / kVector;
  static constexpr bool kOnePart = kNear == kWidth;
  static constexpr bool kSame = std::is_same_v<N, A>, kCertain = kSame && (accumulates(fold) || std::is_integral_v<T>);

  static HWY_NOINLINE A checked_line(const T* x, std::int64_t count, A so_far) {
    return whole_line<true>(x, count, so_far);
  }
  /// Folds a line, without checks of holds() unless `checks`. Vectors that would hold only the neutral element are
  /// skipped.
  template <bool checks>
  static HWY_INLINE A whole_line(const T* x, std::int64_t count, A so_far) {
    constexpr A start = fold_start<T, fold>();
    constexpr std::int64_t kParts = kWidth / kVector;
    Vector<A> lanes[kParts];
    for (Vector<A>& part : lanes) part = Vector<A>(start);
    std::int64_t left = count;
    const std::int64_t near = near_terms(count);
    for (; left >= kBlock; left -= kBlock, x += kBlock)
      for (std::int64_t part = 0; part < kParts; part += kWide)
        take_eight<checks>(near, x + part * kVector, lanes + part);
    if (left > 0) {
      Last last(x, left);
      if (!kOnePart || !(near >= 4 || kSame)) last.keep_first();
      for (std::int64_t part = 0; part < kParts; part += kWide)
        take_last<checks>(last, near, part * kVector, lanes + part);
    }
    for (std::int64_t parts = kParts / 2; parts > 0; parts /= 2)
      for (std::int64_t i = 0; i < parts; ++i) lanes[i] = step<fold>(lanes[i], lanes[i + parts]);
    return step<fold>(so_far, fold_lanes<fold>(hn::ScalableTag<A>(), lanes[0].lanes));
  }

  /// Folds four vectors of a block, from x on, in pairs. Unless `is_certain`, `check` receives the operand for holds().
  template <bool is_certain, class B>
  static HWY_INLINE Vector<B> fold_four(const T* x, Vector<B>& check) {
    const Vector<B> a = load_folded<fold, B>(x), b = load_folded<fold, B>(x + kWidth);
    const Vector<B> c = load_folded<fold, B>(x + 2 * kWidth), d = load_folded<fold, B>(x + 3 * kWidth);
    if constexpr (is_certain) return step<fold>(step<fold>(a, b), step<fold>(c, d));
    const Vector<B> all = step_numbers<fold>(step_numbers<fold>(a, b), step_numbers<fold>(c, d));
    check = accumulates(fold) ? all : (a + b) + (c + d);
    return all;
  }
  /// Folds kNear numbers of each of eight vectors, from x on, into kWide vectors of lanes, and first in N if
  /// `near` allows it.
  template <bool checks = true>
  static HWY_INLINE void take_eight(std::int64_t near, const T* x, Vector<A>* lanes) {
    if (near >= 4 || kSame) {
      constexpr bool is_certain = !checks || kCertain;
      Vector<N> checks_of[2];
      // Loads are in the order of memory, as the processor prefetches only then.
      const Vector<N> low = fold_four<is_certain>(x, checks_of[0]);
      const Vector<N> high = fold_four<is_certain>(x + 4 * kWidth, checks_of[1]);
      if ((is_certain || (holds<fold>(checks_of[0]) && holds<fold>(checks_of[1]))) &&
          take_sums<checks>(near, 8, low, high, lanes))
        return;
    }
    if constexpr (!kCertain)
      for (std::int64_t part = 0; part < kWide; ++part, x += kVector) {
        Vector<A> none;
        const Vector<A> low = fold_four<true>(x, none), high = fold_four<true>(x + 4 * kWidth, none);
        lanes[part] = step<fold>(lanes[part], step<fold>(low, high));
      }
  }

  /// The last `count` of the eight vectors of a block. The first of them may begin with neutral elements: this vector
  /// is in a register if N has as many lanes, and in memory otherwise.
  struct Last {
    using Whole = decltype(load_behind(static_cast<const T*>(nullptr), 0, T()));
    HWY_INLINE Last(const T* x, std::int64_t left)
        : first(x), count((left + kWidth - 1) / kWidth), missing(count * kWidth - left) {
      block = x - missing - (8 - count) * kWidth;
      if constexpr (kOnePart) whole = load_first();
    }
    HWY_INLINE Whole load_first() const {
      return load_behind(block + (8 - count) * kWidth, missing, static_cast<T>(fold_start<T, fold>()));
    }
    HWY_INLINE void keep_first() {
      if (missing == 0) return;
      hn::StoreU(load_first(), hn::DFromV<Whole>(), kept);
      first = reinterpret_cast<const T*>(kept);
    }
    template <class B>
    HWY_INLINE Vector<B> vector(std::int64_t k, std::int64_t part) const {
      if constexpr (kOnePart && std::is_same_v<B, N>)
        if (k == 8 - count) return folded_as<fold, N, T>(whole);
      return load_folded<fold, B>((k == 8 - count ? first : block + k * kWidth) + part);
    }
    const T *first, *block;
    std::int64_t count, missing;
    Whole whole;
    alignas(64) Stored<T> kept[kWidth];
  };
  /// take_eight() for the last vectors, from element `part` of each of them on.
  template <bool checks>
  static HWY_INLINE void take_last(Last& last, std::int64_t near, std::int64_t part, Vector<A>* lanes) {
    if (near >= 4 || kSame) {
      const Vector<N> high = four<N, AsNumbers>(last, 4, part);
      const Vector<N> low = last.count > 4 ? four<N, AsNumbers>(last, 0, part) : high;
      bool hold = true;
      if constexpr (checks && !kCertain) {
        hold = holds<fold>(accumulates(fold) ? high : four<N, Added>(last, 4, part));
        if (last.count > 4) hold = hold && holds<fold>(accumulates(fold) ? low : four<N, Added>(last, 0, part));
      }
      if (hold && take_sums<checks>(near, last.count, low, high, lanes)) return;
      last.keep_first();
    }
    for (std::int64_t i = 0; i < kWide; ++i) {
      Vector<A> all = four<A, Exactly>(last, 4, part + i * kVector);
      if (last.count > 4) all = step<fold>(four<A, Exactly>(last, 0, part + i * kVector), all);
      lanes[i] = step<fold>(lanes[i], all);
    }
  }
  struct Exactly {
    static HWY_INLINE Vector<A> join(Vector<A> a, Vector<A> b) { return step<fold>(a, b); }
  };
  struct AsNumbers {
    static HWY_INLINE Vector<N> join(Vector<N> a, Vector<N> b) { return step_numbers<fold>(a, b); }
  };
  struct Added {
    static HWY_INLINE Vector<N> join(Vector<N> a, Vector<N> b) { return a + b; }
  };
  /// Folds those of the vectors [begin, begin + 4) that `last` has, in pairs.
  template <class B, class How>
  static HWY_INLINE Vector<B> four(const Last& last, std::int64_t begin, std::int64_t part) {
    const std::int64_t count = last.count - 4 + begin;
    Vector<B> second = last.template vector<B>(begin + 3, part);
    if (count > 1) second = How::join(last.template vector<B>(begin + 2, part), second);
    if (count <= 2) return second;
    Vector<B> first = last.template vector<B>(begin + 1, part);
    if (count > 3) first = How::join(last.template vector<B>(begin, part), first);
    return How::join(first, second);
  }

  /// Adds the results of `count` of eight vectors to the lanes; `low` is used only if they are more than four. Returns
  /// false if low + high is not valid in N.
  template <bool checks>
  static HWY_INLINE bool take_sums(std::int64_t near, std::int64_t count, Vector<N> low, Vector<N> high,
                                   Vector<A>* lanes) {
    if (!kSame && near == 8 && count > 4) {
      high = low + high;
      if (checks && !holds<fold>(high)) return false;
      count = 4;
    }
    Vector<A> all[kWide];
    each_wide<A>(high, [&](std::int64_t i, Vector<A> x) HWY_ATTR { all[i / kVector] = x; });
    if (count > 4)
      each_wide<A>(low,
                   [&](std::int64_t i, Vector<A> x) HWY_ATTR { all[i / kVector] = step<fold>(x, all[i / kVector]); });
    for (std::int64_t part = 0; part < kWide; ++part) lanes[part] = step<fold>(lanes[part], all[part]);
    return true;
  }
};

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
