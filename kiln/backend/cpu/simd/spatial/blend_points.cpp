#include "kiln/backend/cpu/simd/spatial/blend_points.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/spatial/blend_points.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE bool inside(const PointTaps& taps, std::int64_t t) {
  return static_cast<std::uint64_t>(taps.index[t]) < static_cast<std::uint64_t>(taps.size);
}

/// Blends groups of kVectors adjacent vectors of D, from channel c on, while whole groups remain. Returns the first
/// channel that remains.
template <int kVectors, class D>
HWY_INLINE std::int64_t blend_vectors(D tag, const PointTaps& taps, const float* x, std::int64_t channels,
                                      std::int64_t count, float* result, std::int64_t c) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (; c + kVectors * lanes <= count; c += kVectors * lanes) {
    auto a = hn::Zero(tag), b = a;
    for (std::int64_t t = 0; t < taps.count; ++t) {
      if (!inside(taps, t)) continue;
      const float* from = x + taps.index[t] * channels + c;
      const auto weight = hn::Set(tag, taps.weight[t]);
      a = hn::MulAdd(weight, hn::LoadU(tag, from), a);
      if constexpr (kVectors == 2) b = hn::MulAdd(weight, hn::LoadU(tag, from + lanes), b);
    }
    hn::StoreU(a, tag, result + c);
    if constexpr (kVectors == 2) hn::StoreU(b, tag, result + c + lanes);
  }
  return c;
}

void blend_one(const PointTaps& taps, const float* x, std::int64_t channels, std::int64_t count, float* result) {
  const hn::ScalableTag<float> tag;
  std::int64_t c = blend_vectors<2>(tag, taps, x, channels, count, result, 0);
  c = blend_vectors<1>(tag, taps, x, channels, count, result, c);
  c = blend_vectors<1>(hn::CappedTag<float, 4>(), taps, x, channels, count, result, c);
  blend_vectors<1>(hn::CappedTag<float, 1>(), taps, x, channels, count, result, c);
}

template <class D>
HWY_INLINE std::int64_t spread_vectors(D tag, float weight, const float* y, std::int64_t count, float* x,
                                       std::int64_t c) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (; c + lanes <= count; c += lanes)
    hn::StoreU(hn::MulAdd(hn::Set(tag, weight), hn::LoadU(tag, y + c), hn::LoadU(tag, x + c)), tag, x + c);
  return c;
}

void spread_one(const PointTaps& taps, const float* y, std::int64_t channels, std::int64_t count, float* x) {
  for (std::int64_t t = 0; t < taps.count; ++t) {
    if (!inside(taps, t)) continue;
    float* to = x + taps.index[t] * channels;
    std::int64_t c = spread_vectors(hn::ScalableTag<float>(), taps.weight[t], y, count, to, 0);
    c = spread_vectors(hn::CappedTag<float, 4>(), taps.weight[t], y, count, to, c);
    spread_vectors(hn::CappedTag<float, 1>(), taps.weight[t], y, count, to, c);
  }
}

void weigh_one(const PointTaps& taps, const float* x, const float* y, std::int64_t channels, float* result) {
  const hn::ScalableTag<float> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t t = 0; t < taps.count; ++t) {
    result[t] = 0;
    if (!inside(taps, t)) continue;
    const float* from = x + taps.index[t] * channels;
    auto sum = hn::Zero(tag);
    std::int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) sum = hn::MulAdd(hn::LoadU(tag, from + c), hn::LoadU(tag, y + c), sum);
    float total = hn::GetLane(hn::SumOfLanes(tag, sum));
    for (; c < channels; ++c) total += from[c] * y[c];
    result[t] = total;
  }
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(blend_one);
HWY_EXPORT(spread_one);
HWY_EXPORT(weigh_one);

void blend_point(const PointTaps& taps, const float* x, std::int64_t channels, std::int64_t count, float* result) {
  HWY_DYNAMIC_DISPATCH(blend_one)(taps, x, channels, count, result);
}
void spread_point(const PointTaps& taps, const float* y, std::int64_t channels, std::int64_t count, float* x) {
  HWY_DYNAMIC_DISPATCH(spread_one)(taps, y, channels, count, x);
}
void weigh_point(const PointTaps& taps, const float* x, const float* y, std::int64_t channels, float* result) {
  HWY_DYNAMIC_DISPATCH(weigh_one)(taps, x, y, channels, result);
}

}  // namespace kiln::cpu::simd
#endif
