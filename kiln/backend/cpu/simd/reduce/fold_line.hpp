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

template <Fold fold, class V>
HWY_INLINE V step(V a, V b) {
  using scalar_math::max, scalar_math::min;
  if constexpr (fold == Fold::Sum) return a + b;
  else if constexpr (fold == Fold::Prod) return a * b;
  else if constexpr (fold == Fold::Max) return max(a, b);
  else return min(a, b);
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
  static HWY_INLINE A whole(const T* x, std::int64_t count, A so_far) {
    A lanes[kWidth];
    std::fill_n(lanes, kWidth, fold_start<T, fold>());
    return finish(x, count, lanes, so_far);
  }
};

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
