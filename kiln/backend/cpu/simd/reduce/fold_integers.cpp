// Folds of integers, in plain loops that the compiler vectorises, once per target.
#include <algorithm>

#include "kiln/backend/cpu/simd/each_type.hpp"
#include "kiln/backend/cpu/simd/reduce/fold.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_exports.hpp"
#include "kiln/core/wrapping.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/reduce/fold_integers.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

template <Fold fold, class A>
HWY_INLINE A join(A a, A b) {
  if constexpr (fold == Fold::Sum) return wrapping_add(a, b);
  else if constexpr (fold == Fold::Prod) return wrapping_multiply(a, b);
  else if constexpr (fold == Fold::Max) return a > b ? a : b;
  else return a < b ? a : b;
}

template <class T, Fold fold>
HWY_INLINE FoldType<T, fold> fold_line(const T* x, std::int64_t count, FoldType<T, fold> so_far) {
  if constexpr (fold == Fold::Sum && sizeof(T) <= 2) {
    // Sums of 32 bits fill a vector with more lanes. kSafe narrow terms cannot overflow them.
    constexpr std::int64_t kSafe = 32768;
    using Narrow = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
    for (; count > 0; count -= kSafe, x += kSafe) {
      Narrow sum = 0;
      for (std::int64_t i = 0; i < std::min(count, kSafe); ++i) sum += x[i];
      so_far = join<fold>(so_far, static_cast<FoldType<T, fold>>(sum));
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) so_far = join<fold>(so_far, static_cast<FoldType<T, fold>>(x[i]));
  }
  return so_far;
}

template <class T, Fold fold>
void fold_integers(const T* HWY_RESTRICT x, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                   FoldType<T, fold>* HWY_RESTRICT results) {
  using A = FoldType<T, fold>;
  if (columns == 1 && stride == 1) {
    *results = fold_line<T, fold>(x, rows, *results);
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row, x += stride)
    for (std::int64_t i = 0; i < columns; ++i) results[i] = join<fold>(results[i], static_cast<A>(x[i]));
}

#define KILN_FOLD(...) KILN_FOLD_BY(fold_integers, __VA_ARGS__)
KILN_EACH_INTEGER(KILN_FOLDS)
#undef KILN_FOLD

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_FOLD(...) KILN_EXPORT_FOLD(fold_rows, __VA_ARGS__)
KILN_EACH_INTEGER(KILN_FOLDS)
#undef KILN_FOLD
#define KILN_FOLD(name, T, fold)                                                                           \
  template <>                                                                                              \
  void fold_lines<T, fold>(const T* x, std::int64_t lines, std::int64_t stride, std::int64_t count,        \
                           FoldType<T, fold>* results) {                                                   \
    for (std::int64_t i = 0; i < lines; ++i) fold_rows<T, fold>(x + i * stride, count, 1, 1, results + i); \
  }
KILN_EACH_INTEGER(KILN_FOLDS)
#undef KILN_FOLD

}  // namespace kiln::cpu::simd
#endif
