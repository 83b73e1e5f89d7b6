// Visits the numbers of a row as vectors, and the remaining ones one by one. Included once per target.
#if defined(KILN_SIMD_NORM_EACH_NUMBER_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_NORM_EACH_NUMBER_HPP
#undef KILN_SIMD_NORM_EACH_NUMBER_HPP
#else
#define KILN_SIMD_NORM_EACH_NUMBER_HPP
#endif

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using std::int64_t;
using V = Vector<float>;
constexpr auto kWidth = static_cast<int64_t>(kLanes<float>);

/// One number with the operations of a vector, for the end of a row.
struct One {
  float value;
  One(float number) : value(number) {}
  static One load(const float* from) { return {*from}; }
  friend One operator+(One a, One b) { return {a.value + b.value}; }
  friend One operator-(One a, One b) { return {a.value - b.value}; }
  friend One operator*(One a, One b) { return {a.value * b.value}; }
  friend One operator/(One a, One b) { return {a.value / b.value}; }
  friend One fma(One a, One b, One c) { return {a.value * b.value + c.value}; }
};
HWY_INLINE void store(One x, float* to) { *to = x.value; }

/// Calls step(i, V) for whole vectors of a row and step(i, One) for the rest.
template <class F>
HWY_INLINE void each(int64_t count, F&& step) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) step(i, V(0));
  for (; i < count; ++i) step(i, One(0));
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
