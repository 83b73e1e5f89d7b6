// Visits the numbers of a row as vectors. Included once per target.
#if defined(KILN_SIMD_NORM_VECTORS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_NORM_VECTORS_HPP
#undef KILN_SIMD_NORM_VECTORS_HPP
#else
#define KILN_SIMD_NORM_VECTORS_HPP
#endif

#include <algorithm>

#include "kiln/backend/cpu/simd/reduce/fold_loads.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using std::int64_t;

/// A whole vector of a row.
struct Whole {
  template <class T>
  HWY_INLINE Vector<T> load(const T* from) const {
    return Vector<T>::load(from);
  }
  template <class T>
  HWY_INLINE void store(Vector<T> x, T* to) const {
    simd::HWY_NAMESPACE::store(x, to);
  }
  template <class T>
  HWY_INLINE Vector<T> keep(Vector<T> x) const {
    return x;
  }
};
/// The first `count` numbers of a vector, at the end of a row. The others are 0 and not in memory.
struct First {
  int64_t count;

  template <class T>
  HWY_INLINE auto mask() const {
    return hn::FirstN(hn::ScalableTag<T>(), static_cast<std::size_t>(count));
  }
  template <class T>
  HWY_INLINE Vector<T> load(const T* from) const {
    if constexpr (kHasMasks<T>) return hn::MaskedLoad(mask<T>(), hn::ScalableTag<T>(), from);
    T lanes[kLanes<T>] = {};
    std::copy_n(from, count, lanes);
    return Vector<T>::load(lanes);
  }
  template <class T>
  HWY_INLINE void store(Vector<T> x, T* to) const {
    if constexpr (kHasMasks<T>) return hn::BlendedStore(x.lanes, mask<T>(), hn::ScalableTag<T>(), to);
    T lanes[kLanes<T>];
    simd::HWY_NAMESPACE::store(x, lanes);
    std::copy_n(lanes, count, to);
  }
  /// Returns x with 0 in the lanes that are not in memory.
  template <class T>
  HWY_INLINE Vector<T> keep(Vector<T> x) const {
    return hn::IfThenElseZero(mask<T>(), x.lanes);
  }
};

/// Calls f(i, at) for the vectors of a row: number i is the first, and `at`, a Whole or a First, loads and stores them.
template <class T, class F>
HWY_INLINE void each(int64_t count, F&& f) {
  constexpr auto lanes = static_cast<int64_t>(kLanes<T>);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) f(i, Whole());
  if (i < count) f(i, First{count - i});
}

template <class T>
HWY_INLINE T sum_of(Vector<T> v) {
  const hn::ScalableTag<T> tag;
  return hn::GetLane(hn::SumOfLanes(tag, v.lanes));
}
/// Returns the sum of f(i, at) over a row, in four independent sums of vectors.
template <class T, class F>
HWY_INLINE T sum_over(int64_t count, F&& f) {
  constexpr auto lanes = static_cast<int64_t>(kLanes<T>);
  Vector<T> a = 0, b = 0, c = 0, d = 0;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = a + f(i, Whole());
    b = b + f(i + lanes, Whole());
    c = c + f(i + 2 * lanes, Whole());
    d = d + f(i + 3 * lanes, Whole());
  }
  for (; i + lanes <= count; i += lanes) a = a + f(i, Whole());
  if (i < count) {
    const First rest{count - i};
    b = b + rest.keep(f(i, rest));
  }
  return sum_of((a + b) + (c + d));
}

// The most rows, and elements, for which each step is done before the next one, so that no row waits for its own sums.
inline constexpr int64_t kInterleavedRows = 16, kInterleavedElements = 4096;
/// Calls f(first row, number of rows) for such groups of rows.
template <class F>
HWY_INLINE void interleave_rows(int64_t rows, int64_t length, int64_t elements, F&& f) {
  const int64_t most = std::clamp<int64_t>(elements / std::max<int64_t>(length, 1), 1, kInterleavedRows);
  for (int64_t row = 0; row < rows; row += most) f(row, std::min(most, rows - row));
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
