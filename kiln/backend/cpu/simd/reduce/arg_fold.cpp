// Plain loops that the compiler vectorises, once per target.
#include "kiln/backend/cpu/simd/reduce/arg_fold.hpp"

#include <algorithm>

#include "kiln/backend/cpu/simd/each_type.hpp"
#include "kiln/backend/cpu/simd/reduce/fold.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/reduce/arg_fold.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// Returns the index of the first element that equals `wanted`, or of the first NaN if `wanted` is NaN.
/// There must be one.
template <class T>
HWY_INLINE std::int64_t find_first(const T* x, std::int64_t count, T wanted) {
  std::int64_t begin = 0;
  if (wanted != wanted) {
    while (x[begin] == x[begin]) ++begin;
    return begin;
  }
  constexpr std::int64_t kBlock = 256;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // has the width of the lanes
  for (; begin + kBlock <= count; begin += kBlock) {
    Bits found = 0;
    for (std::int64_t i = 0; i < kBlock; ++i) found |= x[begin + i] == wanted ? Bits{1} : Bits{0};
    if (found) break;
  }
  while (x[begin] != wanted) ++begin;
  return begin;
}

template <class T, bool largest>
HWY_INLINE void arg_fold_rows(const T* HWY_RESTRICT x, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                              T* HWY_RESTRICT best, std::int32_t* HWY_RESTRICT places) {
  if (columns == 1 && stride == 1) {
    constexpr Fold fold = largest ? Fold::Max : Fold::Min;
    static const FoldKernel& kernel = fold_kernel(dtype_of<T>, fold);
    T extreme = fold_start<T, fold>();
    kernel.lines(x, 1, 0, rows, &extreme);
    *best = extreme;
    *places = static_cast<std::int32_t>(find_first(x, rows, extreme));
    return;
  }
  for (std::int64_t i = 0; i < columns; ++i) best[i] = x[i];
  for (std::int64_t i = 0; i < columns; ++i) places[i] = 0;
  for (std::int64_t row = 1; row < rows; ++row) {
    x += stride;
    for (std::int64_t i = 0; i < columns; ++i) {
      const bool better = beats<largest>(x[i], best[i]);
      best[i] = better ? x[i] : best[i];
      places[i] = better ? static_cast<std::int32_t>(row) : places[i];
    }
  }
}

#define KILN_ARG_FOLD(T, name)                                                                                 \
  void arg_fold_##name(bool largest, const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, \
                       T* best, std::int32_t* places) {                                                        \
    if (largest) arg_fold_rows<T, true>(x, rows, stride, columns, best, places);                               \
    else arg_fold_rows<T, false>(x, rows, stride, columns, best, places);                                      \
  }
KILN_EACH_NUMBER(KILN_ARG_FOLD)
#undef KILN_ARG_FOLD

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_ARG_FOLD(T, name)                                                                                   \
  HWY_EXPORT(arg_fold_##name);                                                                                   \
  template <>                                                                                                    \
  void arg_fold(bool largest, const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, T* best, \
                std::int32_t* places) {                                                                          \
    HWY_DYNAMIC_DISPATCH(arg_fold_##name)(largest, x, rows, stride, columns, best, places);                      \
  }
KILN_EACH_NUMBER(KILN_ARG_FOLD)
#undef KILN_ARG_FOLD

}  // namespace kiln::cpu::simd
#endif
