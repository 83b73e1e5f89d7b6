// The rows of elementwise.def for integers and booleans: plain loops that the compiler makes vectors of, once per
// target.
#include "kiln/backend/cpu/simd/blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/integer.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/ops/elementwise/scalar_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace integer_rows {

using namespace scalar_math;

#define KILN_INTEGER_ROW(Name, domain, parameters, value, Result) \
  struct Name {                                                   \
    static constexpr op::Domain kDomain = op::Domain::domain;     \
    template <class T> using Out = Result;                        \
    template <class T, class C = Computed<T, wraps(#value)>>      \
    static HWY_INLINE Result of parameters {                      \
      return static_cast<Result>(value);                          \
    }                                                             \
  };
#define KILN_UNARY(Name, function, domain, value, gradient) KILN_INTEGER_ROW(Name, domain, (C x), value, T)
#define KILN_PREDICATE(Name, function, domain, value) KILN_INTEGER_ROW(Name, domain, (C x), value, bool)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y) KILN_INTEGER_ROW(Name, domain, (C x, C y), value, T)
#define KILN_COMPARISON(Name, function, domain, value) KILN_INTEGER_ROW(Name, domain, (C x, C y), value, bool)
#include "kiln/ops/elementwise/elementwise.def"
#undef KILN_INTEGER_ROW

}  // namespace integer_rows

template <class T, class Row>
void map_integers(const T* HWY_RESTRICT x, std::size_t x_step, void* z, std::size_t n) {
  auto* HWY_RESTRICT out = static_cast<typename Row::template Out<T>*>(z);
  if (x_step)
    for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(x[i]);
  else
    for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(*x);
}

template <class T, class Row>
void zip_integers(const T* HWY_RESTRICT x, std::size_t x_step, const T* HWY_RESTRICT y, std::size_t y_step, void* z,
                  std::size_t n) {
  auto* HWY_RESTRICT out = static_cast<typename Row::template Out<T>*>(z);
  if (x_step && y_step)
    for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(x[i], y[i]);
  else if (x_step)
    for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(x[i], *y);
  else
    for (std::size_t i = 0; i < n; ++i) out[i] = Row::template of<T>(*x, y[i * y_step]);
}

template <class T>
UnaryBlock<T> find_unary(op::UnaryFn fn) {
  switch (fn) {
#define KILN_UNARY(Name, ...)                                                                           \
  case op::UnaryFn::Name:                                                                               \
    if constexpr (computes<T>(integer_rows::Name::kDomain)) return map_integers<T, integer_rows::Name>; \
    else return nullptr;
#define KILN_PREDICATE(Name, ...) KILN_UNARY(Name, )
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  }
  return nullptr;
}

template <class T>
BinaryBlock<T> find_binary(op::BinaryFn fn) {
  switch (fn) {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, ...)                                                                          \
  case op::BinaryFn::Name:                                                                              \
    if constexpr (computes<T>(integer_rows::Name::kDomain)) return zip_integers<T, integer_rows::Name>; \
    else return nullptr;
#define KILN_COMPARISON(Name, ...) KILN_BINARY(Name, )
#include "kiln/ops/elementwise/elementwise.def"
  }
  return nullptr;
}

UnaryBlock<std::int64_t> unary_int64(op::UnaryFn fn) { return find_unary<std::int64_t>(fn); }
UnaryBlock<std::int32_t> unary_int32(op::UnaryFn fn) { return find_unary<std::int32_t>(fn); }
UnaryBlock<std::uint8_t> unary_uint8(op::UnaryFn fn) { return find_unary<std::uint8_t>(fn); }
BinaryBlock<std::int64_t> binary_int64(op::BinaryFn fn) { return find_binary<std::int64_t>(fn); }
BinaryBlock<std::int32_t> binary_int32(op::BinaryFn fn) { return find_binary<std::int32_t>(fn); }
BinaryBlock<std::uint8_t> binary_uint8(op::BinaryFn fn) { return find_binary<std::uint8_t>(fn); }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_BLOCKS(T, name)                                                                               \
  HWY_EXPORT(unary_##name);                                                                                \
  HWY_EXPORT(binary_##name);                                                                               \
  template <> UnaryBlock<T> unary_block(op::UnaryFn fn) { return HWY_DYNAMIC_DISPATCH(unary_##name)(fn); } \
  template <> BinaryBlock<T> binary_block(op::BinaryFn fn) { return HWY_DYNAMIC_DISPATCH(binary_##name)(fn); }
KILN_BLOCKS(std::int64_t, int64)
KILN_BLOCKS(std::int32_t, int32)
KILN_BLOCKS(std::uint8_t, uint8)
#undef KILN_BLOCKS

}  // namespace kiln::cpu::simd
#endif
