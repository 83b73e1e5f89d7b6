#include "kiln/backend/cpu/simd/elementwise/convert.hpp"

#include <cstring>

#include "kiln/core/convert.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/convert.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The compiler makes vector code of this for the target at hand.
template <class From, class To>
void convert_each(const void* x, void* z, std::int64_t count) {
  const auto* HWY_RESTRICT from = static_cast<const From*>(x);
  auto* HWY_RESTRICT to = static_cast<To*>(z);
  for (std::int64_t i = 0; i < count; ++i) to[i] = kiln::convert<To>(from[i]);
}

// Where the machine converts half precision itself; Highway's replacement for others does not round to nearest.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
template <>
void convert_each<F16, float>(const void* x, void* z, std::int64_t count) {
  const hn::ScalableTag<float> tag;
  const hn::Rebind<hwy::float16_t, decltype(tag)> halves;
  const auto* from = static_cast<const hwy::float16_t*>(x);
  auto* to = static_cast<float*>(z);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::PromoteTo(tag, hn::LoadU(halves, from + i)), tag, to + i);
  for (; i < count; ++i) to[i] = static_cast<const F16*>(x)[i];
}
template <>
void convert_each<float, F16>(const void* x, void* z, std::int64_t count) {
  const hn::ScalableTag<float> tag;
  const hn::Rebind<hwy::float16_t, decltype(tag)> halves;
  const auto* from = static_cast<const float*>(x);
  auto* to = static_cast<hwy::float16_t*>(z);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::DemoteTo(halves, hn::LoadU(tag, from + i)), halves, to + i);
  for (; i < count; ++i) static_cast<F16*>(z)[i] = F16(from[i]);
}
#endif

void convert_dense(DType from, const void* x, DType to, void* z, std::int64_t count) {
  visit_dtype(from, [&](auto from_tag) {
    visit_dtype(to, [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      if constexpr (!std::is_same_v<From, To>) convert_each<From, To>(x, z, count);
    });
  });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(convert_dense);

void convert(DType from, const void* x, DType to, void* z, std::int64_t count) {
  if (count == 0) return;  // of nothing, there may be no memory
  if (from == to) std::memcpy(z, x, static_cast<std::size_t>(count) * size_of(from));
  else HWY_DYNAMIC_DISPATCH(convert_dense)(from, x, to, z, count);
}

}  // namespace kiln::cpu::simd
#endif
