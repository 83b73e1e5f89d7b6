// The functions of elementwise.def for vectors. Included once per target.
#if defined(KILN_SIMD_VECTOR_ROWS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_ROWS_HPP
#undef KILN_SIMD_VECTOR_ROWS_HPP
#else
#define KILN_SIMD_VECTOR_ROWS_HPP
#endif

#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/vector_gamma.hpp"
#include "kiln/backend/cpu/simd/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace unary_rows {

#define KILN_UNARY(Name, function, domain, value, gradient)             \
  struct Name {                                                         \
    static constexpr op::Domain kDomain = op::Domain::domain;           \
    static constexpr bool kLong = is_long(#value);                      \
    static constexpr bool kCostly = is_costly(#value);                  \
    template <class V> static HWY_INLINE auto of(V x) { return value; } \
  };
#define KILN_PREDICATE(Name, function, domain, value) KILN_UNARY(Name, function, domain, value, )
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"

}  // namespace unary_rows
namespace binary_rows {

#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y)           \
  struct Name {                                                              \
    static constexpr op::Domain kDomain = op::Domain::domain;                \
    static constexpr bool kLong = is_long(#value);                           \
    static constexpr bool kCostly = is_costly(#value);                       \
    template <class V> static HWY_INLINE auto of(V x, V y) { return value; } \
  };
#define KILN_COMPARISON(Name, function, domain, value) KILN_BINARY(Name, function, domain, value, , )
#include "kiln/ops/elementwise/elementwise.def"

}  // namespace binary_rows
}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
