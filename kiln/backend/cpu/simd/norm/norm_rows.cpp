#include <cmath>

#include "kiln/backend/cpu/simd/norm/norm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/norm/norm_rows.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using V = Vector<float>;
constexpr auto kWidth = static_cast<std::int64_t>(kLanes<float>);

/// The last vector of a row, which may be short: missing lanes are `fill`.
HWY_INLINE V load_last(const float* x, std::int64_t count, float fill) {
  float lanes[kWidth];
  for (std::int64_t i = 0; i < kWidth; ++i) lanes[i] = i < count ? x[i] : fill;
  return V::load(lanes);
}
HWY_INLINE void store_last(V v, float* z, std::int64_t count) {
  float lanes[kWidth];
  store(v, lanes);
  for (std::int64_t i = 0; i < count; ++i) z[i] = lanes[i];
}
HWY_INLINE float sum_of(V v) { return hn::GetLane(hn::SumOfLanes(V::Tag(), v.lanes)); }

HWY_INLINE float row_max(const float* x, std::int64_t count) {
  V best = -kInfinity<float>;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) best = max(best, V::load(x + i));
  if (i < count) best = max(best, load_last(x + i, count - i, -kInfinity<float>));
  float lanes[kWidth];
  store(best, lanes);
  float result = lanes[0];
  for (std::int64_t k = 1; k < kWidth; ++k) result = scalar_math::max(result, lanes[k]);
  return result;
}

/// sum(exp(x - shift)); stores the terms where z is given.
HWY_INLINE float exp_sum(const float* x, float shift, float* z, std::int64_t count) {
  V sum = 0;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const V term = exp(V::load(x + i) - shift);
    if (z) store(term, z + i);
    sum = sum + term;
  }
  if (i < count) {
    const V term = exp(load_last(x + i, count - i, -kInfinity<float>) - shift);
    if (z) store_last(term, z + i, count - i);
    sum = sum + term;
  }
  return sum_of(sum);
}

float cross_entropy_of(const float* x, std::int64_t count, std::int64_t target) {
  const float best = row_max(x, count);
  return best - x[target] + std::log(exp_sum(x, best, nullptr, count));
}

void softmax_of(const float* x, float* z, std::int64_t count, bool log) {
  const float best = row_max(x, count), sum = exp_sum(x, best, log ? nullptr : z, count);
  const V shift = best, scale = 1 / sum, log_sum = log ? std::log(sum) : 0;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth)
    store(log ? V::load(x + i) - shift - log_sum : V::load(z + i) * scale, z + i);
  if (i == count) return;
  const V last = load_last((log ? x : z) + i, count - i, 0);
  store_last(log ? last - shift - log_sum : last * scale, z + i, count - i);
}

void layer_norm_of(const float* x, const float* weight, const float* bias, float epsilon, float* z,
                   std::int64_t count) {
  const std::int64_t whole = count - count % kWidth, rest = count - whole;
  V sum = 0;
  for (std::int64_t i = 0; i < whole; i += kWidth) sum = sum + V::load(x + i);
  if (rest) sum = sum + load_last(x + whole, rest, 0);
  const float mean = sum_of(sum) / static_cast<float>(count);
  // The mean is rounded, and far from zero what that leaves may be more than x varies by: it is taken away as well.
  V distances = 0;
  for (std::int64_t i = 0; i < whole; i += kWidth) distances = distances + (V::load(x + i) - mean);
  if (rest) distances = distances + (load_last(x + whole, rest, mean) - mean);
  const float left = sum_of(distances) / static_cast<float>(count);
  V squares = 0;
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const V centred = V::load(x + i) - mean - left;
    squares = fma(centred, centred, squares);
  }
  float total = sum_of(squares);
  for (std::int64_t i = whole; i < count; ++i) {
    const float centred = x[i] - mean - left;
    total += centred * centred;
  }
  const V scale = 1 / std::sqrt(total / static_cast<float>(count) + epsilon);
  for (std::int64_t i = 0; i < whole; i += kWidth)
    store(fma((V::load(x + i) - mean - left) * scale, V::load(weight + i), V::load(bias + i)), z + i);
  if (rest) {
    const V normal = (load_last(x + whole, rest, mean) - mean - left) * scale;
    store_last(fma(normal, load_last(weight + whole, rest, 0), load_last(bias + whole, rest, 0)), z + whole, rest);
  }
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(softmax_of);
HWY_EXPORT(cross_entropy_of);
HWY_EXPORT(layer_norm_of);
void softmax_row(const float* x, float* z, std::int64_t count, bool log) {
  HWY_DYNAMIC_DISPATCH(softmax_of)(x, z, count, log);
}
float cross_entropy_row(const float* x, std::int64_t count, std::int64_t target) {
  return HWY_DYNAMIC_DISPATCH(cross_entropy_of)(x, count, target);
}
void layer_norm_row(const float* x, const float* weight, const float* bias, float epsilon, float* z,
                    std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(layer_norm_of)(x, weight, bias, epsilon, z, count);
}

}  // namespace kiln::cpu::simd
#endif
