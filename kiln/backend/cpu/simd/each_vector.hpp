// Visits contiguous elements by vectors. Included once per target.
#if defined(KILN_SIMD_EACH_VECTOR_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_EACH_VECTOR_HPP
#undef KILN_SIMD_EACH_VECTOR_HPP
#else
#define KILN_SIMD_EACH_VECTOR_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <std::int64_t vectors>
using VectorCount = std::integral_constant<std::int64_t, vectors>;

/// Calls f(tag, i, VectorCount) for `count` floats: it takes so many vectors of the tag from element i on. Groups of
/// kVectors full vectors come first, then full vectors, narrower ones, and single elements last. Callers are declared
/// HWY_FLATTEN, so that f is inlined and its sums stay in registers.
template <std::int64_t kVectors = 1, class F>
HWY_INLINE void each_vector(std::int64_t count, F&& f) {
  std::int64_t i = 0;
  const auto take = [&](auto tag, auto vectors) HWY_ATTR {
    const std::int64_t step = static_cast<std::int64_t>(hn::Lanes(tag)) * vectors;
    for (; i + step <= count; i += step) f(tag, i, vectors);
  };
  if constexpr (kVectors > 1) take(hn::ScalableTag<float>(), VectorCount<kVectors>());
  take(hn::ScalableTag<float>(), VectorCount<1>());
  take(hn::CappedTag<float, 8>(), VectorCount<1>());
  take(hn::CappedTag<float, 4>(), VectorCount<1>());
  take(hn::CappedTag<float, 1>(), VectorCount<1>());
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
