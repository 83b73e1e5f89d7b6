#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/backend/cpu/simd/norm/norm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/norm/norm_rows.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/reduce/fold_line.hpp"
#include "kiln/backend/cpu/simd/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using V = Vector<float>;
constexpr auto kWidth = static_cast<std::int64_t>(kLanes<float>);

/// Loads the last, incomplete vector of a row; missing lanes are `fill`.
template <class T>
HWY_INLINE Vector<T> load_last(const T* x, std::int64_t count, T fill) {
  if constexpr (kHasMasks<T>) {
    const hn::ScalableTag<T> tag;
    const auto there = hn::FirstN(tag, static_cast<std::size_t>(count));
    return hn::IfThenElse(there, hn::MaskedLoad(there, tag, x), hn::Set(tag, fill));
  } else {
    T lanes[kLanes<T>];
    std::fill(std::copy_n(x, count, lanes), lanes + kLanes<T>, fill);
    return Vector<T>::load(lanes);
  }
}
template <class T>
HWY_INLINE void store_last(Vector<T> v, T* z, std::int64_t count) {
  if constexpr (kHasMasks<T>) {
    const hn::ScalableTag<T> tag;
    hn::BlendedStore(v.lanes, hn::FirstN(tag, static_cast<std::size_t>(count)), tag, z);
  } else {
    T lanes[kLanes<T>];
    store(v, lanes);
    std::copy_n(lanes, count, z);
  }
}
template <class T>
HWY_INLINE T sum_of(Vector<T> v) {
  const hn::ScalableTag<T> tag;
  return hn::GetLane(hn::SumOfLanes(tag, v.lanes));
}

/// The largest number of a row, or NaN if the row has one.
HWY_INLINE float row_max(const float* x, std::int64_t count) {
  V best = -kInfinity<float>;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) best = max(best, V::load(x + i));
  if (i < count) best = max(best, load_last(x + i, count - i, -kInfinity<float>));
  if (any(is_nan(best))) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(V::Tag(), best.lanes));
}

/// Returns sum(exp(x - shift)), and stores the terms if z is not null.
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

PowerSum power_sum_of(const float* x, std::int64_t count) {
  const float best = row_max(x, count);
  return {best, std::log(exp_sum(x, best, nullptr, count))};
}

// The most rows, and elements, for which each step is done before the next one, so that no row waits for its own sums.
constexpr std::int64_t kTogether = 16, kTogetherElements = 4096;
/// Calls f(offset of the first row, number of rows) for such groups of rows.
template <class F>
HWY_INLINE void together(std::int64_t rows, std::int64_t count, F&& f) {
  const std::int64_t most =
      std::clamp<std::int64_t>(kTogetherElements / std::max<std::int64_t>(count, 1), 1, kTogether);
  for (std::int64_t row = 0; row < rows; row += most) f(row * count, std::min(most, rows - row));
}

void softmax_of(const float* x, float* z, std::int64_t rows, std::int64_t count, bool log) {
  together(rows, count, [&](std::int64_t first, std::int64_t some) HWY_ATTR {
    float best[kTogether], sums[kTogether];
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
      const auto result = [&](V term) HWY_ATTR { return log ? term - shift - sum : term * sum; };
      std::int64_t i = 0;
      for (; i + kWidth <= count; i += kWidth) store(result(V::load(from + i)), to + i);
      if (i < count) store_last(result(load_last<float>(from + i, count - i, 0)), to + i, count - i);
    }
  });
}

/// Applies sum = add(i, sum), from 0 on, to all vectors that begin at i < whole, in four independent sums. Returns
/// their total.
template <class T, class F>
HWY_INLINE Vector<T> add_vectors(std::int64_t whole, F&& add) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<T>);
  Vector<T> a = 0, b = 0, c = 0, d = 0;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= whole; i += 4 * lanes) {
    a = add(i, a);
    b = add(i + lanes, b);
    c = add(i + 2 * lanes, c);
    d = add(i + 3 * lanes, d);
  }
  for (; i < whole; i += lanes) a = add(i, a);
  return (a + b) + (c + d);
}

/// Computes layer norm of at most kTogether rows. Returns the statistics of the first row.
template <class T>
HWY_INLINE RowStatistics layer_norm_in(const T* x, const RowNorm<T>& norm, T* z, std::int64_t rows,
                                       std::int64_t count) {
  using Numbers = Vector<T>;
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<T>);
  const std::int64_t whole = count - count % lanes, rest = count - whole;
  T means[kTogether] = {}, lefts[kTogether] = {}, variances[kTogether], scales[kTogether];
  if (norm.centred) {
    for (std::int64_t k = 0; k < rows; ++k) {
      const T* const row = x + k * count;
      Numbers sum = add_vectors<T>(
          whole, [&](std::int64_t i, Numbers so_far) HWY_ATTR { return so_far + Numbers::load(row + i); });
      if (rest) sum = sum + load_last<T>(row + whole, rest, 0);
      means[k] = sum_of(sum) / static_cast<T>(count);
    }
    // The mean is rounded. Its rounding error may be larger than the deviations of x: subtract the mean of the
    // distances to it as well.
    for (std::int64_t k = 0; k < rows; ++k) {
      const T *const row = x + k * count, mean = means[k];
      Numbers distances = add_vectors<T>(
          whole, [&](std::int64_t i, Numbers so_far) HWY_ATTR { return so_far + (Numbers::load(row + i) - mean); });
      if (rest) distances = distances + (load_last(row + whole, rest, mean) - mean);
      lefts[k] = sum_of(distances) / static_cast<T>(count);
    }
  }
  for (std::int64_t k = 0; k < rows; ++k) {
    const T *const row = x + k * count, mean = means[k], left = lefts[k];
    const Numbers squares = add_vectors<T>(whole, [&](std::int64_t i, Numbers so_far) HWY_ATTR {
      const Numbers centred = Numbers::load(row + i) - mean - left;
      return fma(centred, centred, so_far);
    });
    T total = sum_of(squares);
    for (std::int64_t i = whole; i < count; ++i) {
      const T centred = row[i] - mean - left;
      total += centred * centred;
    }
    variances[k] = total / static_cast<T>(count);
  }
  for (std::int64_t k = 0; k < rows; ++k) scales[k] = 1 / std::sqrt(variances[k] + norm.epsilon);
  for (std::int64_t k = 0; k < rows; ++k) {
    const T *const row = x + k * count, mean = means[k], left = lefts[k];
    T* const to = z + k * count;
    const Numbers scale = scales[k];
    const auto affine = [&](std::int64_t begin, std::int64_t end, auto&& weight, auto&& bias) HWY_ATTR {
      std::int64_t i = begin;
      for (; i + lanes <= end; i += lanes)
        store(fma((Numbers::load(row + i) - mean - left) * scale, weight(i, lanes), bias(i, lanes)), to + i);
      if (i == end) return;
      const Numbers normal = (load_last(row + i, end - i, mean) - mean - left) * scale;
      store_last(fma(normal, weight(i, end - i), bias(i, end - i)), to + i, end - i);
    };
    if (norm.together == 1) {
      const auto numbers = [=](const T* all) HWY_ATTR {
        return [=](std::int64_t i, std::int64_t some)
                   HWY_ATTR { return some == lanes ? Numbers::load(all + i) : load_last<T>(all + i, some, 0); };
      };
      affine(0, count, numbers(norm.weight), numbers(norm.bias));
    } else {
      const auto number = [](T same)
                              HWY_ATTR { return [=](std::int64_t, std::int64_t) HWY_ATTR { return Numbers(same); }; };
      for (std::int64_t i = 0; i < count; i += norm.together)
        affine(i, i + norm.together, number(norm.weight[i / norm.together]), number(norm.bias[i / norm.together]));
    }
  }
  return {static_cast<double>(means[0]) + lefts[0], variances[0]};
}
void layer_norm_floats(const float* x, const RowNorm<float>& norm, float* z, std::int64_t rows, std::int64_t count) {
  together(rows, count, [&](std::int64_t first, std::int64_t some) HWY_ATTR {
    layer_norm_in(x + first, norm, z + first, some, count);
  });
}
RowStatistics layer_norm_doubles(const double* x, const RowNorm<double>& norm, double* z, std::int64_t count) {
  return layer_norm_in(x, norm, z, 1, count);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(softmax_of);
HWY_EXPORT(power_sum_of);
HWY_EXPORT(layer_norm_floats);
HWY_EXPORT(layer_norm_doubles);
void softmax_rows(const float* x, float* z, std::int64_t rows, std::int64_t count, bool log) {
  HWY_DYNAMIC_DISPATCH(softmax_of)(x, z, rows, count, log);
}
PowerSum power_sum_of_row(const float* x, std::int64_t count) { return HWY_DYNAMIC_DISPATCH(power_sum_of)(x, count); }
void layer_norm_rows(const float* x, const RowNorm<float>& norm, float* z, std::int64_t rows, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(layer_norm_floats)(x, norm, z, rows, count);
}
RowStatistics layer_norm_row(const double* x, const RowNorm<double>& norm, double* z, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(layer_norm_doubles)(x, norm, z, count);
}

}  // namespace kiln::cpu::simd
#endif
