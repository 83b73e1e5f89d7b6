// The rows of elementwise.def that are a few instructions long, for halves: from memory to memory in one go, computed in
// float32 and rounded once. Through blocks of floats (each_block) they would be converted for longer than computed.
#include "kiln/backend/cpu/simd/blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/halves.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"
#include "kiln/backend/cpu/simd/vector_rows.hpp"
// Behind the rows.
#include "kiln/backend/cpu/simd/elementwise/find_block.def"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

HWY_INLINE void store_half(Lanes x, BF16* to) { Halves<DType::BF16>::store(x, reinterpret_cast<std::byte*>(to)); }
HWY_INLINE void store_half(Lanes x, F16* to) { Halves<DType::F16>::store(x, reinterpret_cast<std::byte*>(to)); }
HWY_INLINE void store_half(Mask<float> x, std::uint8_t* to) { store(x, to); }

constexpr std::size_t kStep = kLanes<float>;

struct Map {
  template <class T, class Row>
  static void of(const T* x, std::size_t x_step, void* z, std::size_t n) {
    using Out = std::conditional_t<std::is_same_v<decltype(Row::of(Lanes(0))), Lanes>, T, std::uint8_t>;
    auto* out = static_cast<Out*>(z);
    const std::size_t advance = x_step * kStep;
    std::size_t i = 0;
    for (; i + kStep <= n; i += kStep, x += advance) store_half(Row::of(load_half(x)), out + i);
    if (i == n) return;
    T last[kStep] = {};
    Out results[kStep];
    for (std::size_t k = 0; k < n - i; ++k) last[k] = x[k * x_step];
    store_half(Row::of(load_half(last)), results);
    for (std::size_t k = 0; k < n - i; ++k) out[i + k] = results[k];
  }
};

struct Zip {
  template <class T, class Row>
  static void of(const T* x, std::size_t x_step, const T* y, std::size_t y_step, void* z, std::size_t n) {
    using Out = std::conditional_t<std::is_same_v<decltype(Row::of(Lanes(0), Lanes(0))), Lanes>, T, std::uint8_t>;
    auto* out = static_cast<Out*>(z);
    const std::size_t x_advance = x_step * kStep, y_advance = y_step * kStep;
    std::size_t i = 0;
    for (; i + kStep <= n; i += kStep, x += x_advance, y += y_advance)
      store_half(Row::of(load_half(x), load_half(y)), out + i);
    if (i == n) return;
    T last_x[kStep] = {}, last_y[kStep] = {};
    Out results[kStep];
    for (std::size_t k = 0; k < n - i; ++k) {
      last_x[k] = x[k * x_step];
      last_y[k] = y[k * y_step];
    }
    store_half(Row::of(load_half(last_x), load_half(last_y)), results);
    for (std::size_t k = 0; k < n - i; ++k) out[i + k] = results[k];
  }
};

}  // namespace

UnaryBlock<BF16> unary_bf16(op::UnaryFn fn) { return find_unary<BF16, Map>(fn); }
BinaryBlock<BF16> binary_bf16(op::BinaryFn fn) { return find_binary<BF16, Zip>(fn); }
// Where the machine converts no half precision, blocks are quicker.
UnaryBlock<F16> unary_f16(op::UnaryFn fn) {
  if constexpr (Halves<DType::F16>::kConverts) return find_unary<F16, Map>(fn);
  else return nullptr;
}
BinaryBlock<F16> binary_f16(op::BinaryFn fn) {
  if constexpr (Halves<DType::F16>::kConverts) return find_binary<F16, Zip>(fn);
  else return nullptr;
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

KILN_UNARY_BLOCK(BF16, bf16)
KILN_BINARY_BLOCK(BF16, bf16)
KILN_UNARY_BLOCK(F16, f16)
KILN_BINARY_BLOCK(F16, f16)

}  // namespace kiln::cpu::simd
#endif
