// The rows of elementwise.def that are a few instructions long, for halves: from memory to memory in one go, computed in
// float32 and rounded once. Through blocks of floats (each_block) they would be converted for longer than computed.
#include "kiln/backend/cpu/simd/blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/halves.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"
#include "kiln/backend/cpu/simd/vector_rows.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
// Behind the rows.
#include "kiln/backend/cpu/simd/elementwise/find_block.def"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

[[maybe_unused]] HWY_INLINE void store_half(Lanes x, BF16* to) {
  Halves<DType::BF16>::store(x, reinterpret_cast<std::byte*>(to));
}
[[maybe_unused]] HWY_INLINE void store_half(Lanes x, F16* to) {
  Halves<DType::F16>::store(x, reinterpret_cast<std::byte*>(to));
}
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

/// What only changes signs leaves the other bits as they are: f(bits of x, bits of y).
template <class T, class F>
HWY_INLINE void of_signs(const T* x, std::size_t x_step, const T* y, std::size_t y_step, void* z, std::size_t n, F f) {
  const hn::ScalableTag<std::uint16_t> tag;
  const auto load = [&](const T* from, std::size_t step, std::size_t i) HWY_ATTR {
    const auto* const bits = reinterpret_cast<const std::uint16_t*>(from);
    return step ? hn::LoadU(tag, bits + i) : hn::Set(tag, *bits);
  };
  auto* const out = static_cast<std::uint16_t*>(z);
  constexpr std::size_t lanes = HWY_LANES(std::uint16_t);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(load(x, x_step, i), load(y, y_step, i)), tag, out + i);
  if (i == n) return;
  T last_x[lanes] = {}, last_y[lanes] = {};
  for (std::size_t k = 0; k < n - i; ++k) {
    last_x[k] = x[(i + k) * x_step];
    last_y[k] = y[(i + k) * y_step];
  }
  std::uint16_t results[lanes];
  hn::StoreU(f(load(last_x, 1, 0), load(last_y, 1, 0)), tag, results);
  for (std::size_t k = 0; k < n - i; ++k) out[i + k] = results[k];
}
template <class T>
void abs_bits(const T* x, std::size_t x_step, void* z, std::size_t n) {
  const auto number = hn::Set(hn::ScalableTag<std::uint16_t>(), 0x7fff);
  of_signs(x, x_step, x, x_step, z, n, [&](auto a, auto) HWY_ATTR { return hn::And(a, number); });
}
template <class T>
void neg_bits(const T* x, std::size_t x_step, void* z, std::size_t n) {
  const auto sign = hn::Set(hn::ScalableTag<std::uint16_t>(), 0x8000);
  of_signs(x, x_step, x, x_step, z, n, [&](auto a, auto) HWY_ATTR { return hn::Xor(a, sign); });
}
template <class T>
void copysign_bits(const T* x, std::size_t x_step, const T* y, std::size_t y_step, void* z, std::size_t n) {
  const auto sign = hn::Set(hn::ScalableTag<std::uint16_t>(), 0x8000);
  of_signs(x, x_step, y, y_step, z, n,
           [&](auto a, auto b) HWY_ATTR { return hn::Or(hn::AndNot(sign, a), hn::And(b, sign)); });
}

template <class T>
UnaryBlock<T> unary_of_signs(op::UnaryFn fn) {
  return fn == op::UnaryFn::Abs ? abs_bits<T> : fn == op::UnaryFn::Neg ? neg_bits<T> : nullptr;
}
template <class T>
UnaryBlock<T> unary_half(op::UnaryFn fn) {
  const UnaryBlock<T> signs = unary_of_signs<T>(fn);
  return signs ? signs : find_unary<T, Map>(fn);
}
template <class T>
BinaryBlock<T> binary_half(op::BinaryFn fn) {
  return fn == op::BinaryFn::Copysign ? copysign_bits<T> : find_binary<T, Zip>(fn);
}

}  // namespace

UnaryBlock<BF16> unary_bf16(op::UnaryFn fn) { return unary_half<BF16>(fn); }
BinaryBlock<BF16> binary_bf16(op::BinaryFn fn) { return binary_half<BF16>(fn); }
// Where the machine converts no half precision, blocks are quicker.
UnaryBlock<F16> unary_f16(op::UnaryFn fn) {
  if constexpr (Halves<DType::F16>::kConverts) return unary_half<F16>(fn);
  else return unary_of_signs<F16>(fn);
}
BinaryBlock<F16> binary_f16(op::BinaryFn fn) {
  if constexpr (Halves<DType::F16>::kConverts) return binary_half<F16>(fn);
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
