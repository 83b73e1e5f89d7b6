// How elements that lie side by side are folded, by a reduction as by the end of a fused program.
// Included once per target.
#if defined(KILN_SIMD_FOLD_LINE_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_FOLD_LINE_HPP
#undef KILN_SIMD_FOLD_LINE_HPP
#else
#define KILN_SIMD_FOLD_LINE_HPP
#endif

#include <algorithm>
#include <limits>

#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/backend/cpu/simd/vector.hpp"
#include "kiln/ops/elementwise/scalar_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// A vector of A from as many T.
template <class A, class T>
HWY_INLINE Vector<A> load_as(const T* from) {
  const hn::ScalableTag<A> tag;
  if constexpr (std::is_same_v<A, T>) return hn::LoadU(tag, from);
  else return hn::PromoteTo(tag, hn::LoadU(hn::Rebind<T, decltype(tag)>(), from));
}

// Loads that leave out lanes touch no memory there, where the machine has such.
inline constexpr bool kHasMasks = HWY_ARCH_X86 && HWY_MAX_BYTES >= 32;
/// A vector with `start` in its first `missing` lanes, where nothing is read.
template <class T>
HWY_INLINE Vector<T> load_behind(const T* from, std::int64_t missing, T start) {
  if constexpr (kHasMasks) {
    const hn::ScalableTag<T> tag;
    const auto there = hn::Not(hn::FirstN(tag, static_cast<std::size_t>(missing)));
    return hn::IfThenElse(there, hn::MaskedLoad(there, tag, from), hn::Set(tag, start));
  } else {
    T lanes[kLanes<T>];
    std::fill_n(lanes, missing, start);
    std::copy(from + missing, from + kLanes<T>, lanes + missing);
    return Vector<T>::load(lanes);
  }
}
/// What is folded of some numbers, as A.
template <Fold fold, class A, class Numbers>
HWY_INLINE Vector<A> folded_as(Numbers x) {
  const hn::ScalableTag<A> tag;
  const auto mapped = [&]() HWY_ATTR {
    if constexpr (fold == Fold::Squares) return hn::Mul(x, x);
    else if constexpr (fold == Fold::Numbers) return hn::IfThenElseZero(hn::Eq(x, x), x);
    else return x;
  }();
  if constexpr (std::is_same_v<hn::TFromV<Numbers>, A>) return mapped;
  else return hn::PromoteTo(tag, mapped);
}
/// The same of one number.
template <Fold fold, class T>
HWY_INLINE T mapped(T x) {
  if constexpr (fold == Fold::Squares) return x * x;
  else if constexpr (fold == Fold::Numbers) return x == x ? x : T(0);
  else return x;
}
/// load_as() of what is folded.
template <Fold fold, class A, class T>
HWY_INLINE Vector<A> load_folded(const T* from) {
  return folded_as<fold, A>(hn::LoadU(hn::Rebind<T, hn::ScalableTag<A>>(), from));
}
/// The first `count` lanes, and zeros; what is folded of them.
template <class A, Fold fold = Fold::Sum, class T>
HWY_INLINE Vector<A> load_first_as(const T* from, std::int64_t count) {
  const hn::ScalableTag<A> tag;
  const hn::Rebind<T, decltype(tag)> narrow;
  if constexpr (kHasMasks) {
    return folded_as<fold, A>(hn::MaskedLoad(hn::FirstN(narrow, static_cast<std::size_t>(count)), narrow, from));
  } else {
    T lanes[kLanes<A>] = {};
    std::copy_n(from, count, lanes);
    return load_folded<fold, A>(lanes);
  }
}

template <Fold fold, class V>
HWY_INLINE V step(V a, V b) {
  using scalar_math::max, scalar_math::min;
  if constexpr (fold == Fold::Prod) return a * b;
  else if constexpr (fold == Fold::Max) return max(a, b);
  else if constexpr (fold == Fold::Min) return min(a, b);
  else return a + b;
}

/// What T is folded in at first, a few at a time: sums of floats in float, and those sums in FoldType.
template <class T, Fold fold>
using NearType =
    std::conditional_t<std::is_same_v<T, float> && accumulates(fold) && fold != Fold::Prod, float, FoldType<T, fold>>;

/// From so many terms on the roundings of the first sums are lost beside that of the result.
inline constexpr std::int64_t kLongLine = 64;

/// step() where neither is NaN.
template <Fold fold, class N>
HWY_INLINE Vector<N> step_numbers(Vector<N> a, Vector<N> b) {
  if constexpr (accumulates(fold)) return step<fold>(a, b);
  else if constexpr (HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)
    return fold == Fold::Max ? hn::Max(a.lanes, b.lanes) : hn::Min(a.lanes, b.lanes);
  else return fold == Fold::Max ? select(a > b, a, b) : select(a < b, a, b);
}
/// May what was folded so be trusted? `sum` is of the same numbers, and no number where one of them is none; sums must be
/// finite, as those in FoldType may be so where these are not.
template <Fold fold, class N>
HWY_INLINE bool holds(Vector<N> sum) {
  const Vector<N> largest = std::numeric_limits<N>::max(), size = hn::Abs(sum.lanes);
  return !any(accumulates(fold) ? !(size <= largest) : is_nan(sum));
}

/// Folds the vectors of N vector(0) to vector(7), in pairs of pairs: into `low` the first four, unless only the others
/// `count`, and into `high` these. False where that does not hold, which is not asked where it `is_certain`.
template <Fold fold, bool is_certain, class N, class F>
HWY_INLINE bool fold_eight(std::int64_t count, F&& vector, Vector<N>& low, Vector<N>& high) {
  const auto four = [&](std::int64_t first, Vector<N>& check) HWY_ATTR {
    const Vector<N> a = vector(first), b = vector(first + 1), c = vector(first + 2), d = vector(first + 3);
    if constexpr (is_certain) return step<fold>(step<fold>(a, b), step<fold>(c, d));
    const Vector<N> all = step_numbers<fold>(step_numbers<fold>(a, b), step_numbers<fold>(c, d));
    check = accumulates(fold) ? all : (a + b) + (c + d);
    return all;
  };
  Vector<N> checks[2];
  high = four(4, checks[1]);
  if (count > 4) low = four(0, checks[0]);
  if constexpr (is_certain) return true;
  else return holds<fold>(checks[1]) && (count <= 4 || holds<fold>(checks[0]));
}

/// Calls f(i, vector) for the numbers of x, as vectors of A; x itself where that is its type.
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

/// Folds elements that lie side by side: eight vectors of them lane by lane, and that with what there was before. Where
/// the last elements fill no block they stand at its end, so that those who fold as they go may take a block that
/// begins earlier.
template <class T, Fold fold>
struct FoldLine {
  using A = FoldType<T, fold>;
  static constexpr auto kVector = static_cast<std::int64_t>(kLanes<A>);
  static constexpr auto kWidth = static_cast<std::int64_t>(kLanes<T>), kBlock = 8 * kWidth;
  /// For fewer this does not pay: they are folded one after the other.
  static constexpr std::int64_t kLeast = kBlock / 4;

  /// Of a line of so many, whole blocks are folded in NearType first.
  static constexpr bool is_long(std::int64_t count) { return count >= kLongLine; }

  /// A block, into kWidth lanes; `near` where the line is long.
  static HWY_INLINE void take_block(const T* x, A* lanes, bool near) {
    for (std::int64_t i = 0; i < kWidth; i += kNear) {
      Vector<A> parts[kWide];
      for (std::int64_t part = 0; part < kWide; ++part) parts[part] = Vector<A>::load(lanes + i + part * kVector);
      take_eight(near, [&](std::int64_t k) HWY_ATTR { return x + k * kWidth + i; }, parts);
      for (std::int64_t part = 0; part < kWide; ++part) store(parts[part], lanes + i + part * kVector);
    }
  }
  /// The last `count` of a block; the others are overwritten with what changes nothing.
  static HWY_INLINE void take_end(T* block, std::int64_t count, A* lanes) {
    std::fill_n(block, kBlock - count, static_cast<T>(fold_start<T, fold>()));
    take_block(block, lanes, false);
  }
  /// As many whole blocks as there are of `count` elements; gives the number of elements in them.
  static HWY_INLINE std::int64_t take(const T* x, std::int64_t count, A* lanes, bool near) {
    std::int64_t at = 0;
    for (; at + kBlock <= count; at += kBlock) take_block(x + at, lanes, near);
    return at;
  }
  /// The last elements, and all lanes together.
  static HWY_INLINE A finish(const T* x, std::int64_t count, A* lanes, bool near, A so_far) {
    const std::int64_t taken = take(x, count, lanes, near);
    if (taken < count) {
      T last[kBlock];
      std::copy(x + taken, x + count, last + kBlock - (count - taken));
      take_end(last, count - taken, lanes);
    }
    for (std::int64_t width = kWidth / 2; width > 0; width /= 2)
      for (std::int64_t i = 0; i < width; ++i) lanes[i] = step<fold>(lanes[i], lanes[i + width]);
    return step<fold>(so_far, lanes[0]);
  }
  /// All of it at once: the same bits, and what changes nothing is left out.
  static HWY_INLINE A whole(const T* x, std::int64_t count, A so_far) {
    constexpr A start = fold_start<T, fold>();
    constexpr std::int64_t kParts = kWidth / kVector;
    Vector<A> lanes[kParts];
    for (Vector<A>& part : lanes) part = Vector<A>(start);
    std::int64_t left = count;
    const bool near = is_long(count);
    for (; left >= kBlock; left -= kBlock, x += kBlock)
      for (std::int64_t part = 0; part < kParts; part += kWide)
        take_eight(near, [&](std::int64_t k) HWY_ATTR { return x + k * kWidth + part * kVector; }, lanes + part);
    if (left > 0) {
      const std::int64_t vectors = (left + kWidth - 1) / kWidth, missing = vectors * kWidth - left;
      alignas(64) T first[kWidth];
      store(load_behind(x - missing, missing, static_cast<T>(start)), first);
      for (std::int64_t part = 0; part < kParts; ++part)
        lanes[part] = step<fold>(lanes[part], tree(vectors, [&](std::int64_t k) HWY_ATTR {
                                   const T* const vector =
                                       k == 8 - vectors ? first : x - missing + (k + vectors - 8) * kWidth;
                                   return load_folded<fold, A>(vector + part * kVector);
                                 }));
    }
    for (std::int64_t parts = kParts / 2; parts > 0; parts /= 2)
      for (std::int64_t i = 0; i < parts; ++i) lanes[i] = step<fold>(lanes[i], lanes[i + parts]);
    A last[kVector];
    store(lanes[0], last);
    for (std::int64_t width = kVector / 2; width > 0; width /= 2)
      for (std::int64_t i = 0; i < width; ++i) last[i] = step<fold>(last[i], last[i + width]);
    return step<fold>(so_far, last[0]);
  }

 private:
  using N = NearType<T, fold>;
  static constexpr auto kNear = static_cast<std::int64_t>(kLanes<N>), kWide = kNear / kVector;

  /// The eight times kNear numbers at from(0) to from(7), into kWide vectors of lanes; in N first where that is `near`.
  template <class F>
  static HWY_INLINE void take_eight(bool near, F&& from, Vector<A>* lanes) {
    constexpr bool kSame = std::is_same_v<N, A>, kCertain = kSame && (accumulates(fold) || std::is_integral_v<T>);
    Vector<N> low = 0, high = 0;
    const auto numbers = [&](std::int64_t k) HWY_ATTR { return load_folded<fold, N>(from(k)); };
    if ((near || kSame) && fold_eight<fold, kCertain>(8, numbers, low, high)) {
      Vector<A> all[kWide];
      each_wide<A>(high, [&](std::int64_t i, Vector<A> x) HWY_ATTR { all[i / kVector] = x; });
      each_wide<A>(low,
                   [&](std::int64_t i, Vector<A> x) HWY_ATTR { all[i / kVector] = step<fold>(x, all[i / kVector]); });
      for (std::int64_t part = 0; part < kWide; ++part) lanes[part] = step<fold>(lanes[part], all[part]);
    } else if constexpr (!kCertain) {
      for (std::int64_t part = 0; part < kWide; ++part)
        lanes[part] = step<fold>(lanes[part], tree(8, [&](std::int64_t k) HWY_ATTR {
                                   return load_folded<fold, A>(from(k) + part * kVector);
                                 }));
    }
  }
  /// The last `count` of the eight vectors of a block, in pairs.
  template <class F>
  static HWY_INLINE Vector<A> tree(std::int64_t count, F&& vector) {
    Vector<A> last = vector(7);
    if (count > 1) last = step<fold>(vector(6), last);
    if (count > 2) {
      Vector<A> third = vector(5);
      if (count > 3) third = step<fold>(vector(4), third);
      last = step<fold>(third, last);
    }
    if (count > 4) {
      Vector<A> second = vector(3);
      if (count > 5) second = step<fold>(vector(2), second);
      if (count > 6) {
        Vector<A> first = vector(1);
        if (count > 7) first = step<fold>(vector(0), first);
        second = step<fold>(first, second);
      }
      last = step<fold>(second, last);
    }
    return last;
  }
};

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
