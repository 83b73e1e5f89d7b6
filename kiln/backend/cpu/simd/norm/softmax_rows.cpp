#include "kiln/backend/cpu/simd/norm/softmax.hpp"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/norm/softmax_rows.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/norm/norm_vectors.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_line.hpp"
#include "kiln/backend/cpu/simd/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using V = Vector<float>;

/// The largest number of a row, or NaN if the row has one.
HWY_INLINE float row_max(const float* x, std::int64_t count) {
  return FoldLine<float, Fold::Max>::whole(x, count, -kInfinity<float>);
}

/// Returns sum(exp(x - shift)), and stores the terms if z is not null.
HWY_INLINE float exp_sum(const float* x, float shift, float* z, std::int64_t count) {
  V sum = 0;
  each<float>(count, [&](std::int64_t i, auto at) HWY_ATTR {
    const V term = exp(at.load(x + i) - shift);
    if (z) at.store(term, z + i);
    sum = sum + at.keep(term);
  });
  return sum_of(sum);
}

PowerSum power_sum_of(const float* x, std::int64_t count) {
  const float best = row_max(x, count);
  return {best, std::log(exp_sum(x, best, nullptr, count))};
}

void softmax_of(const float* x, float* z, std::int64_t rows, std::int64_t count, bool log) {
  interleave_rows(rows, count, kInterleavedElements, [&](std::int64_t row, std::int64_t some) HWY_ATTR {
    const std::int64_t first = row * count;
    float best[kInterleavedRows], sums[kInterleavedRows];
    for (std::int64_t k = 0; k < some; ++k) best[k] = row_max(x + first + k * count, count);
    for (std::int64_t k = 0; k < some; ++k) {
      const std::int64_t at = first + k * count;
      sums[k] = exp_sum(x + at, best[k], log ? nullptr : z + at, count);
    }
    for (std::int64_t k = 0; k < some; ++k) sums[k] = log ? std::log(sums[k]) : 1 / sums[k];
    for (std::int64_t k = 0; k < some; ++k) {
      const float* const from = (log ? x : z) + first + k * count;
      float* const to = z + first + k * count;
      const V shift = best[k], sum = sums[k];
      each<float>(count, [&](std::int64_t i, auto at) HWY_ATTR {
        const V term = at.load(from + i);
        at.store(log ? term - shift - sum : term * sum, to + i);
      });
    }
  });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(softmax_of);
HWY_EXPORT(power_sum_of);
void softmax_rows(const float* x, float* z, std::int64_t rows, std::int64_t count, bool log) {
  HWY_DYNAMIC_DISPATCH(softmax_of)(x, z, rows, count, log);
}
PowerSum log_sum_exp_of_row(const float* x, std::int64_t count) { return HWY_DYNAMIC_DISPATCH(power_sum_of)(x, count); }

}  // namespace kiln::cpu::simd
#endif
