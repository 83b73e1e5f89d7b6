// Folds of integers, in plain loops that the compiler vectorises, once per target.
#include <algorithm>

#include "kiln/backend/cpu/simd/reduce/fold.hpp"
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
struct FoldIntegers {
  using A = FoldType<T, fold>;

  static void start(void* results, std::int64_t count) {
    std::fill_n(static_cast<A*>(results), count, fold_start<T, fold>());
  }
  static A line(const T* x, std::int64_t count, A so_far) {
    if constexpr (fold == Fold::Sum && sizeof(T) <= 2) {
      // Sums of 32 bits fill a vector with more lanes. kSafe narrow terms cannot overflow them.
      constexpr std::int64_t kSafe = 32768;
      using Narrow = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
      for (; count > 0; count -= kSafe, x += kSafe) {
        Narrow sum = 0;
        for (std::int64_t i = 0; i < std::min(count, kSafe); ++i) sum += x[i];
        so_far = join<fold>(so_far, static_cast<A>(sum));
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) so_far = join<fold>(so_far, static_cast<A>(x[i]));
    }
    return so_far;
  }
  static HWY_NOINLINE void fold_rows(const T* HWY_RESTRICT x, std::int64_t rows, std::int64_t stride,
                                     std::int64_t columns, A* HWY_RESTRICT results) {
    for (std::int64_t row = 0; row < rows; ++row, x += stride)
      for (std::int64_t i = 0; i < columns; ++i) results[i] = join<fold>(results[i], static_cast<A>(x[i]));
  }
  static void columns(const void* numbers, std::int64_t rows, std::int64_t stride, std::int64_t columns, void* so_far) {
    if (columns == 1 && stride == 1) lines(numbers, 1, 0, rows, so_far);
    else fold_rows(static_cast<const T*>(numbers), rows, stride, columns, static_cast<A*>(so_far));
  }
  static void lines(const void* numbers, std::int64_t lines, std::int64_t stride, std::int64_t count, void* so_far) {
    auto* const results = static_cast<A*>(so_far);
    for (std::int64_t i = 0; i < lines; ++i)
      results[i] = line(static_cast<const T*>(numbers) + i * stride, count, results[i]);
  }
  static constexpr FoldKernel kKernel{dtype_of<A>, start, columns, lines};
};

const FoldKernel* integer_kernel(DType dtype, Fold fold) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> const FoldKernel* {
    using Number = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    if constexpr (std::is_integral_v<Number>) {
      if (fold == Fold::Sum) return &FoldIntegers<Number, Fold::Sum>::kKernel;
      if (fold == Fold::Prod) return &FoldIntegers<Number, Fold::Prod>::kKernel;
      return fold == Fold::Max ? &FoldIntegers<Number, Fold::Max>::kKernel : &FoldIntegers<Number, Fold::Min>::kKernel;
    } else {
      return nullptr;
    }
  });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(integer_kernel);
const FoldKernel& integer_fold_kernel(DType dtype, Fold fold) {
  return *HWY_DYNAMIC_DISPATCH(integer_kernel)(dtype, fold);
}

}  // namespace kiln::cpu::simd
#endif
