#include <algorithm>

#include "kiln/backend/cpu/simd/blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/unary.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_rows.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
// Behind the rows.
#include "kiln/backend/cpu/simd/elementwise/find_block.def"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

struct Map {
  template <class T, class Row>
  static void of(const T* x, std::size_t x_step, void* z, std::size_t n) {
    constexpr std::size_t lanes = kLanes<T>;
    using Result = decltype(Row::of(Vector<T>(0)));
    using Out = std::conditional_t<std::is_same_v<Result, Vector<T>>, T, std::uint8_t>;
    auto* out = static_cast<Out*>(z);
    const std::size_t advance = x_step * lanes;
    T last[lanes];
    // The last vector overlaps the one before it; it is read first, as the result may lie where the operand does.
    const bool overlaps = n > lanes && n % lanes != 0;
    if (overlaps) store(Vector<T>::load(x + (n - lanes) * x_step), last);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes, x += advance) store(Row::of(Vector<T>::load(x)), out + i);
    if (i == n) return;
    if (!overlaps)
      for (std::size_t k = 0; k < lanes; ++k) last[k] = k < n - i ? x[k * x_step] : T(0);
    Out results[lanes];
    store(Row::of(Vector<T>::load(last)), overlaps ? out + (n - lanes) : results);
    if (!overlaps) std::copy_n(results, n - i, out + i);
  }
};

}  // namespace

UnaryBlock<float> unary_float(op::UnaryFn fn) { return find_unary<float, Map>(fn); }
UnaryBlock<double> unary_double(op::UnaryFn fn) { return find_unary<double, Map>(fn); }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

KILN_UNARY_BLOCK(float, float)
KILN_UNARY_BLOCK(double, double)

}  // namespace kiln::cpu::simd
#endif
