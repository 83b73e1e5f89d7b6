// How elements that lie side by side are folded, by a reduction as by the end of a fused program.
// Included once per target.
#if defined(KILN_SIMD_FOLD_LINE_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_FOLD_LINE_HPP
#undef KILN_SIMD_FOLD_LINE_HPP
#else
#define KILN_SIMD_FOLD_LINE_HPP
#endif

#include <algorithm>

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
/// The first `count` lanes, and zeros.
template <class A, class T>
HWY_INLINE Vector<A> load_first_as(const T* from, std::int64_t count) {
  const hn::ScalableTag<A> tag;
  const hn::Rebind<T, decltype(tag)> narrow;
  if constexpr (kHasMasks) {
    const auto number = hn::MaskedLoad(hn::FirstN(narrow, static_cast<std::size_t>(count)), narrow, from);
    if constexpr (std::is_same_v<A, T>) return number;
    else return hn::PromoteTo(tag, number);
  } else {
    T lanes[kLanes<A>] = {};
    std::copy_n(from, count, lanes);
    return load_as<A>(lanes);
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

/// load_as() of what is folded.
template <Fold fold, class A, class T>
HWY_INLINE Vector<A> load_folded(const T* from) {
  if constexpr (fold != Fold::Squares && fold != Fold::Numbers) {
    return load_as<A>(from);
  } else {
    const hn::ScalableTag<A> tag;
    const auto x = hn::LoadU(hn::Rebind<T, decltype(tag)>(), from);
    if constexpr (fold == Fold::Squares) return hn::PromoteTo(tag, hn::Mul(x, x));
    else return hn::PromoteTo(tag, hn::IfThenElseZero(hn::Eq(x, x), x));
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

  /// A block, into kWidth lanes.
  static HWY_INLINE void take_block(const T* x, A* lanes) {
    for (std::int64_t i = 0; i < kWidth; i += kVector) {
      const auto pair = [&](std::int64_t k) HWY_ATTR {
        return step<fold>(load_as<A>(x + k * kWidth + i), load_as<A>(x + (k + 1) * kWidth + i));
      };
      const auto all = step<fold>(step<fold>(pair(0), pair(2)), step<fold>(pair(4), pair(6)));
      store(step<fold>(Vector<A>::load(lanes + i), all), lanes + i);
    }
  }
  /// The last `count` of a block; the others are overwritten with what changes nothing.
  static HWY_INLINE void take_end(T* block, std::int64_t count, A* lanes) {
    std::fill_n(block, kBlock - count, static_cast<T>(fold_start<T, fold>()));
    take_block(block, lanes);
  }
  /// As many whole blocks as there are of `count` elements; gives the number of elements in them.
  static HWY_INLINE std::int64_t take(const T* x, std::int64_t count, A* lanes) {
    std::int64_t at = 0;
    for (; at + kBlock <= count; at += kBlock) take_block(x + at, lanes);
    return at;
  }
  /// The last elements, and all lanes together.
  static HWY_INLINE A finish(const T* x, std::int64_t count, A* lanes, A so_far) {
    const std::int64_t taken = take(x, count, lanes);
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
    for (; left >= kBlock; left -= kBlock, x += kBlock)
      for (std::int64_t part = 0; part < kParts; ++part)
        lanes[part] = step<fold>(lanes[part], tree(8, [&](std::int64_t k) HWY_ATTR {
                                   return load_folded<fold, A>(x + k * kWidth + part * kVector);
                                 }));
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
