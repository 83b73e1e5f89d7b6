#include <algorithm>

#include "kiln/backend/cpu/simd/blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/binary.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_rows.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
// Behind the rows.
#include "kiln/backend/cpu/simd/elementwise/find_block.def"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

struct Zip {
  template <class T, class Row>
  static void of(const T* x, std::size_t x_step, const T* y, std::size_t y_step, void* z, std::size_t n) {
    constexpr std::size_t lanes = kLanes<T>;
    using Result = decltype(Row::of(Vector<T>(0), Vector<T>(0)));
    using Out = std::conditional_t<std::is_same_v<Result, Vector<T>>, T, std::uint8_t>;
    auto* out = static_cast<Out*>(z);
    const std::size_t x_advance = x_step * lanes, y_advance = y_step * lanes;
    T last_x[lanes], last_y[lanes];
    // The last vector overlaps the one before it; it is read first, as a result may lie where an operand does.
    const bool overlaps = n > lanes && n % lanes != 0;
    if (overlaps) {
      store(Vector<T>::load(x + (n - lanes) * x_step), last_x);
      store(Vector<T>::load(y + (n - lanes) * y_step), last_y);
    }
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes, x += x_advance, y += y_advance)
      store(Row::of(Vector<T>::load(x), Vector<T>::load(y)), out + i);
    if (i == n) return;
    if (!overlaps)
      for (std::size_t k = 0; k < lanes; ++k) {
        last_x[k] = k < n - i ? x[k * x_step] : T(0);
        last_y[k] = k < n - i ? y[k * y_step] : T(0);
      }
    Out results[lanes];
    store(Row::of(Vector<T>::load(last_x), Vector<T>::load(last_y)), overlaps ? out + (n - lanes) : results);
    if (!overlaps) std::copy_n(results, n - i, out + i);
  }
};

}  // namespace

BinaryBlock<float> binary_float(op::BinaryFn fn) { return find_binary<float, Zip>(fn); }
BinaryBlock<double> binary_double(op::BinaryFn fn) { return find_binary<double, Zip>(fn); }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

KILN_BINARY_BLOCK(float, float)
KILN_BINARY_BLOCK(double, double)

}  // namespace kiln::cpu::simd
#endif
