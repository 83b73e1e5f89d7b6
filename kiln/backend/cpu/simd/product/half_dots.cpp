#include "kiln/backend/cpu/simd/product/half_dots.hpp"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/product/half_dots.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

using std::int64_t;

constexpr auto kWidth = static_cast<int64_t>(kLanes<float>);

/// The first `count` of a vector; zeros take the place of the others.
template <class H>
HWY_INLINE Lanes load_some(const H* from, int64_t count) {
  if (count == kWidth) return load_half(from);
  H lanes[kWidth] = {};
  std::copy_n(from, count, lanes);
  return load_half(lanes);
}
HWY_INLINE Lanes load_some(const float* from, int64_t count) {
  if (count == kWidth) return Lanes::load(from);
  float lanes[kWidth] = {};
  std::copy_n(from, count, lanes);
  return Lanes::load(lanes);
}

/// What is fetched ahead of its use: a Sapphire Rapids reads 24 GB/s by it in place of 7, a Zen 4 as much as without.
constexpr int64_t kAhead = 512;

/// Sums in two vectors in turn, so that additions do not wait for each other.
template <class H, int64_t kCount>
void dot_of(const H* matrix, int64_t step, int64_t lines, int64_t k, const float* vectors, float* results) {
  for (int64_t i = 0; i < lines; ++i) {
    const H* const line = matrix + i * step;
    Lanes sums[2][kCount];
    for (int64_t v = 0; v < kCount; ++v) sums[0][v] = sums[1][v] = Lanes(0);
    const auto take = [&](Lanes(&to)[kCount], int64_t at, int64_t count) HWY_ATTR {
      const Lanes numbers = load_some(line + at, count);
      for (int64_t v = 0; v < kCount; ++v) to[v] = fma(numbers, load_some(vectors + v * k + at, count), to[v]);
    };
    int64_t at = 0;
    for (; at + 2 * kWidth <= k; at += 2 * kWidth) {
      hwy::Prefetch(line + at + kAhead);
      take(sums[0], at, kWidth);
      take(sums[1], at + kWidth, kWidth);
    }
    for (; at < k; at += kWidth) take(sums[0], at, std::min(kWidth, k - at));
    for (int64_t v = 0; v < kCount; ++v)
      results[v * lines + i] = hn::GetLane(hn::SumOfLanes(Lanes::Tag(), (sums[0][v] + sums[1][v]).lanes));
  }
}

/// Calls f(integral constant) for as many vectors.
template <class F>
void visit_count(int64_t count, F&& f) {
  if (count == 1) f(std::integral_constant<int64_t, 1>());
  else if (count == 2) f(std::integral_constant<int64_t, 2>());
  else if (count == 3) f(std::integral_constant<int64_t, 3>());
  else f(std::integral_constant<int64_t, 4>());
}
template <class H>
void dot(const H* matrix, int64_t step, int64_t lines, int64_t k, const float* vectors, int64_t count, float* results) {
  visit_count(count, [&]<int64_t n>(std::integral_constant<int64_t, n>) {
    dot_of<H, n>(matrix, step, lines, k, vectors, results);
  });
}
}  // namespace

HalfDots<BF16> dots_bf16() { return dot<BF16>; }
HalfDots<F16> dots_f16() { return Halves<DType::F16>::kConverts ? dot<F16> : nullptr; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(dots_bf16);
HWY_EXPORT(dots_f16);
template <> HalfDots<BF16> half_dots() { return HWY_DYNAMIC_DISPATCH(dots_bf16)(); }
template <> HalfDots<F16> half_dots() { return HWY_DYNAMIC_DISPATCH(dots_f16)(); }

}  // namespace kiln::cpu::simd
#endif
