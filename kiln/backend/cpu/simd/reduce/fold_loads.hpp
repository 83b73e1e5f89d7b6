// Loads elements for folds: halves are converted to floats, and Squares, Numbers and Length are applied to each element.
// Included once per target.
#if defined(KILN_SIMD_FOLD_LOADS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_FOLD_LOADS_HPP
#undef KILN_SIMD_FOLD_LOADS_HPP
#else
#define KILN_SIMD_FOLD_LOADS_HPP
#endif

#include <algorithm>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"
#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// The type to which T is converted for folding.
template <class T>
using Number = std::conditional_t<is_half<T>, float, T>;
/// The type with which Highway loads T.
template <class T>
using Stored = std::conditional_t<is_half<T>, std::uint16_t, T>;
template <class T>
HWY_INLINE const Stored<T>* stored(const T* from) {
  return reinterpret_cast<const Stored<T>*>(from);
}

// Whether the target has masked loads, which do not touch the memory of lanes that are masked out.
template <class T>
inline constexpr bool kHasMasks = HWY_ARCH_X86 && HWY_MAX_BYTES >= (sizeof(T) < 4 ? 64 : 32);

/// Returns the numbers to fold for the elements of T in `lanes`, as A: their squares, rounded to T, or, for Length,
/// computed in A; their values that are not NaN; or the elements themselves.
template <Fold fold, class A, class T>
HWY_INLINE Vector<A> folded_as(hn::Vec<hn::Rebind<Stored<T>, hn::ScalableTag<A>>> lanes) {
  const hn::ScalableTag<A> tag;
  const hn::Rebind<Number<T>, decltype(tag)> numbers;
  const auto x = [&]() HWY_ATTR {
    if constexpr (is_half<T>) return Halves<dtype_of<T>>::widen(numbers, lanes);
    else return lanes;
  }();
  const auto mapped = [&]() HWY_ATTR {
    if constexpr (fold == Fold::Squares && is_half<T>) return Halves<dtype_of<T>>::round(numbers, hn::Mul(x, x));
    else if constexpr (fold == Fold::Squares || (fold == Fold::Length && std::is_same_v<Number<T>, A>))
      return hn::Mul(x, x);
    else if constexpr (fold == Fold::Numbers) return hn::IfThenElseZero(hn::Eq(x, x), x);
    else return x;
  }();
  if constexpr (std::is_same_v<Number<T>, A>) {
    return mapped;
  } else {
    const auto wide = hn::PromoteTo(tag, mapped);
    if constexpr (fold == Fold::Length) return hn::Mul(wide, wide);
    else return wide;
  }
}
/// folded_as() for one element.
template <Fold fold, class A, class T>
HWY_INLINE A number_as(T stored) {
  const Number<T> x = stored;
  if constexpr (fold == Fold::Squares) return static_cast<Number<T>>(static_cast<T>(x * x));
  else if constexpr (fold == Fold::Length) return static_cast<A>(x) * static_cast<A>(x);
  else if constexpr (fold == Fold::Numbers) return x == x ? x : 0;
  else return static_cast<A>(x);
}
/// Loads as many T as A has lanes, and returns the numbers to fold for them.
template <Fold fold, class A, class T>
HWY_INLINE Vector<A> load_folded(const T* from) {
  return folded_as<fold, A, T>(hn::LoadU(hn::Rebind<Stored<T>, hn::ScalableTag<A>>(), stored(from)));
}
/// Loads as many T as A has lanes, converted to A.
template <class A, class T>
HWY_INLINE Vector<A> load_as(const T* from) {
  return load_folded<Fold::Sum, A>(from);
}
/// Loads the first `count` lanes, and returns the numbers to fold for them; the other lanes are 0 and not in memory.
template <class A, Fold fold, class T>
HWY_INLINE Vector<A> load_first_as(const T* from, std::int64_t count) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>);
  if (count >= lanes) return load_folded<fold, A>(from);
  if constexpr (kHasMasks<T>) {
    const hn::Rebind<Stored<T>, hn::ScalableTag<A>> narrow;
    const auto first = hn::FirstN(narrow, static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
    return folded_as<fold, A, T>(hn::MaskedLoad(first, narrow, stored(from)));
  } else {
    T numbers[lanes] = {};
    if (count > 0) std::copy_n(from, count, numbers);
    return load_folded<fold, A>(numbers);
  }
}
/// Copies as many T as N has lanes. The first `missing` lanes become `start`, and their memory is not read.
template <class N, class T>
HWY_INLINE void copy_behind(const T* from, std::int64_t missing, T start, Stored<T>* to) {
  if constexpr (kHasMasks<T>) {
    const hn::Rebind<Stored<T>, hn::ScalableTag<N>> tag;
    const auto there = hn::Not(hn::FirstN(tag, static_cast<std::size_t>(missing)));
    const auto numbers = hn::MaskedLoad(there, tag, stored(from));
    hn::StoreU(hn::IfThenElse(there, numbers, hn::Set(tag, *stored(&start))), tag, to);
  } else {
    std::fill_n(to, missing, *stored(&start));
    std::copy(stored(from) + missing, stored(from) + kLanes<N>, to + missing);
  }
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
