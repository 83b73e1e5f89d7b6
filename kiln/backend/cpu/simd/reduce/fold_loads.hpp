// Loads elements for folds: halves are converted to floats, and Squares and Numbers are applied to each element.
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

/// Returns the numbers to fold for the elements of T in `lanes`, as A: their squares, their values that are not NaN, or
/// the elements themselves.
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
    else if constexpr (fold == Fold::Squares) return hn::Mul(x, x);
    else if constexpr (fold == Fold::Numbers) return hn::IfThenElseZero(hn::Eq(x, x), x);
    else return x;
  }();
  if constexpr (std::is_same_v<Number<T>, A>) return mapped;
  else return hn::PromoteTo(tag, mapped);
}
/// folded_as() for one element.
template <Fold fold, class A, class T>
HWY_INLINE A number_as(T stored) {
  const Number<T> x = stored;
  if constexpr (fold == Fold::Squares) return static_cast<Number<T>>(static_cast<T>(x * x));
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
/// Returns the numbers to fold for `lanes` of T. Lanes that `there` leaves out, whose memory is not read, are the neutral
/// element `start`.
template <class A, Fold fold, class T, class M>
HWY_INLINE Vector<A> load_some(const T* from, M there) {
  const hn::Rebind<Stored<T>, hn::ScalableTag<A>> narrow;
  const T start = static_cast<T>(fold_start<T, fold>());
  return folded_as<fold, A, T>(
      hn::IfThenElse(there, hn::MaskedLoad(there, narrow, stored(from)), hn::Set(narrow, *stored(&start))));
}
/// Loads the first `count` lanes, and returns the numbers to fold for them; the other lanes are neutral.
template <class A, Fold fold, class T>
HWY_INLINE Vector<A> load_first_as(const T* from, std::int64_t count) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>);
  if (count >= lanes) return load_folded<fold, A>(from);
  if constexpr (kHasMasks<T>) {
    const hn::Rebind<Stored<T>, hn::ScalableTag<A>> narrow;
    return load_some<A, fold>(from, hn::FirstN(narrow, static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
  } else {
    T numbers[lanes];
    std::fill_n(numbers, lanes, static_cast<T>(fold_start<T, fold>()));
    if (count > 0) std::copy_n(from, count, numbers);
    return load_folded<fold, A>(numbers);
  }
}
/// Loads all lanes but the first `missing`, and returns the numbers to fold for them; the others are neutral.
template <class A, Fold fold, class T>
HWY_INLINE Vector<A> load_behind_as(const T* from, std::int64_t missing) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>);
  if (missing <= 0) return load_folded<fold, A>(from);
  if (missing >= lanes) return fold_start<T, fold>();
  if constexpr (kHasMasks<T>) {
    const hn::Rebind<Stored<T>, hn::ScalableTag<A>> narrow;
    return load_some<A, fold>(from, hn::Not(hn::FirstN(narrow, static_cast<std::size_t>(missing))));
  } else {
    T numbers[lanes];
    std::fill_n(numbers, missing, static_cast<T>(fold_start<T, fold>()));
    std::copy(from + missing, from + lanes, numbers + missing);
    return load_folded<fold, A>(numbers);
  }
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
