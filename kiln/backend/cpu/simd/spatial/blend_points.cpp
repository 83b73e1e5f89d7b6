#include "kiln/backend/cpu/simd/spatial/blend_points.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/spatial/blend_points.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/each_vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE bool inside(const PointTaps& taps, std::int64_t t) {
  return static_cast<std::uint64_t>(taps.index[t]) < static_cast<std::uint64_t>(taps.size);
}

HWY_FLATTEN void blend_one(const PointTaps& taps, const float* x, std::int64_t channels, std::int64_t count,
                           float* result) {
  each_vector<2>(count, [&]<class D, std::int64_t vectors>(D tag, std::int64_t c, VectorCount<vectors>) HWY_ATTR {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
    hn::Vec<D> sums[vectors];
    for (auto& sum : sums) sum = hn::Zero(tag);
    for (std::int64_t t = 0; t < taps.count; ++t) {
      if (!inside(taps, t)) continue;
      const float* from = x + taps.index[t] * channels + c;
      const auto weight = hn::Set(tag, taps.weight[t]);
      for (std::int64_t k = 0; k < vectors; ++k)
        sums[k] = hn::MulAdd(weight, hn::LoadU(tag, from + k * lanes), sums[k]);
    }
    for (std::int64_t k = 0; k < vectors; ++k) hn::StoreU(sums[k], tag, result + c + k * lanes);
  });
}

HWY_FLATTEN void spread_one(const PointTaps& taps, const float* y, std::int64_t channels, std::int64_t count,
                            float* x) {
  for (std::int64_t t = 0; t < taps.count; ++t) {
    if (!inside(taps, t)) continue;
    float* to = x + taps.index[t] * channels;
    each_vector(count, [&](auto tag, std::int64_t c, VectorCount<1>) HWY_ATTR {
      hn::StoreU(hn::MulAdd(hn::Set(tag, taps.weight[t]), hn::LoadU(tag, y + c), hn::LoadU(tag, to + c)), tag, to + c);
    });
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

constexpr PointKernels kPointKernels{blend_one, spread_one, weigh_one};
const PointKernels& find_point_kernels() { return kPointKernels; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(find_point_kernels);
const PointKernels& point_kernels() { return HWY_DYNAMIC_DISPATCH(find_point_kernels)(); }

}  // namespace kiln::cpu::simd
#endif
