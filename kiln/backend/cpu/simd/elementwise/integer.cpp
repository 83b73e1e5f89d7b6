// The rows of elementwise.def for integers and booleans: plain loops that the compiler makes vectors of, once per
// target.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kiln/backend/cpu/simd/blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/integer.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/elementwise/scalar_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {
namespace unary_rows {

using namespace scalar_math;

// C is what a row is computed in, whatever the type of the numbers that it is called with.
#define KILN_INTEGER_ROW(Name, domain, parameters, value, Result) \
  struct Name {                                                   \
    static constexpr op::Domain kDomain = op::Domain::domain;     \
    template <class T> using Out = Result;                        \
    template <class T, class C = Computed<T, wraps(#value)>>      \
    static HWY_INLINE Result of parameters {                      \
      return static_cast<Result>(value);                          \
    }                                                             \
  };
#define KILN_UNARY(Name, function, domain, value, gradient) \
  KILN_INTEGER_ROW(Name, domain, (std::type_identity_t<C> x), value, T)
#define KILN_PREDICATE(Name, function, domain, value) \
  KILN_INTEGER_ROW(Name, domain, (std::type_identity_t<C> x), value, bool)
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"

}  // namespace unary_rows
namespace binary_rows {

using namespace scalar_math;

#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y) \
  KILN_INTEGER_ROW(Name, domain, (std::type_identity_t<C> x, std::type_identity_t<C> y), value, T)
#define KILN_COMPARISON(Name, function, domain, value) \
  KILN_INTEGER_ROW(Name, domain, (std::type_identity_t<C> x, std::type_identity_t<C> y), value, bool)
#include "kiln/ops/elementwise/elementwise.def"
#undef KILN_INTEGER_ROW

}  // namespace binary_rows
}  // namespace
}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "kiln/backend/cpu/simd/elementwise/find_block.def"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

struct Map {
  template <class T, class Row>
  static void of(const T* HWY_RESTRICT x, std::size_t x_step, void* z, std::size_t n) {
    auto* HWY_RESTRICT out = static_cast<typename Row::template Out<T>*>(z);
    if (x_step)
      for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(x[i]);
    else
      for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(*x);
  }
};

/// Products of bytes, two at a time, as processors multiply words: the low byte of a product of words is that of their low
/// bytes, and the product of what is above has the other. Gives how many were multiplied.
template <class T>
HWY_INLINE std::size_t multiply_pairs(const T* HWY_RESTRICT x, const T* HWY_RESTRICT y, T* HWY_RESTRICT z,
                                      std::size_t n) {
  for (std::size_t i = 0; i < n / 2; ++i) {
    std::uint16_t a, b;
    std::memcpy(&a, x + 2 * i, 2);
    std::memcpy(&b, y + 2 * i, 2);
    const auto low = static_cast<std::uint16_t>(std::uint32_t{a} * b);
    const auto high = static_cast<std::uint16_t>(std::uint32_t{a} / 256 * (b & 0xff00u));
    const auto both = static_cast<std::uint16_t>((low & 0xff) | high);
    std::memcpy(z + 2 * i, &both, 2);
  }
  return n / 2 * 2;
}

struct Zip {
  template <class T, class Row>
  static void of(const T* HWY_RESTRICT x, std::size_t x_step, const T* HWY_RESTRICT y, std::size_t y_step, void* z,
                 std::size_t n) {
    auto* HWY_RESTRICT out = static_cast<typename Row::template Out<T>*>(z);
    if (x_step && y_step) {
      std::size_t i = 0;
      if constexpr (sizeof(T) == 1 && std::is_same_v<Row, binary_rows::Mul>) i = multiply_pairs(x, y, out, n);
      for (; i < n; ++i) out[i] = Row::template of<T>(x[i], y[i]);
    } else if (x_step) {
      for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(x[i], *y);
    } else {
      for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(*x, y[i * y_step]);
    }
  }
};

}  // namespace

UnaryBlock<std::int64_t> unary_int64(op::UnaryFn fn) { return find_unary<std::int64_t, Map>(fn); }
UnaryBlock<std::int32_t> unary_int32(op::UnaryFn fn) { return find_unary<std::int32_t, Map>(fn); }
UnaryBlock<std::int16_t> unary_int16(op::UnaryFn fn) { return find_unary<std::int16_t, Map>(fn); }
UnaryBlock<std::uint16_t> unary_uint16(op::UnaryFn fn) { return find_unary<std::uint16_t, Map>(fn); }
UnaryBlock<std::int8_t> unary_int8(op::UnaryFn fn) { return find_unary<std::int8_t, Map>(fn); }
UnaryBlock<std::uint8_t> unary_uint8(op::UnaryFn fn) { return find_unary<std::uint8_t, Map>(fn); }
BinaryBlock<std::int64_t> binary_int64(op::BinaryFn fn) { return find_binary<std::int64_t, Zip>(fn); }
BinaryBlock<std::int32_t> binary_int32(op::BinaryFn fn) { return find_binary<std::int32_t, Zip>(fn); }
BinaryBlock<std::int16_t> binary_int16(op::BinaryFn fn) { return find_binary<std::int16_t, Zip>(fn); }
BinaryBlock<std::uint16_t> binary_uint16(op::BinaryFn fn) { return find_binary<std::uint16_t, Zip>(fn); }
BinaryBlock<std::int8_t> binary_int8(op::BinaryFn fn) { return find_binary<std::int8_t, Zip>(fn); }
BinaryBlock<std::uint8_t> binary_uint8(op::BinaryFn fn) { return find_binary<std::uint8_t, Zip>(fn); }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

KILN_UNARY_BLOCK(std::int64_t, int64)
KILN_BINARY_BLOCK(std::int64_t, int64)
KILN_UNARY_BLOCK(std::int32_t, int32)
KILN_BINARY_BLOCK(std::int32_t, int32)
KILN_UNARY_BLOCK(std::int16_t, int16)
KILN_BINARY_BLOCK(std::int16_t, int16)
KILN_UNARY_BLOCK(std::uint16_t, uint16)
KILN_BINARY_BLOCK(std::uint16_t, uint16)
KILN_UNARY_BLOCK(std::int8_t, int8)
KILN_BINARY_BLOCK(std::int8_t, int8)
KILN_UNARY_BLOCK(std::uint8_t, uint8)
KILN_BINARY_BLOCK(std::uint8_t, uint8)

}  // namespace kiln::cpu::simd
#endif
