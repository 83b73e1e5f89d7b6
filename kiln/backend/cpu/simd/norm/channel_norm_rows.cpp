#include <algorithm>
#include <cmath>

#include "kiln/backend/cpu/simd/norm/channel_norm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/norm/channel_norm_rows.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/norm/each_number.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using std::int64_t;
HWY_INLINE float sum_of(V v) { return hn::GetLane(hn::SumOfLanes(V::Tag(), v.lanes)); }

/// Coefficients from which vectors are loaded. A single coefficient for all elements is repeated in a vector first.
class Spread {
 public:
  explicit Spread(Coefficients c) : data_(c.data), step_(c.step) {
    if (step_ != 0) return;
    store(V(*c.data), all_);
    data_ = all_;
  }
  template <class X>
  HWY_INLINE X at(int64_t i) const {
    return X::load(data_ + i * step_);
  }

 private:
  alignas(64) float all_[kWidth];
  const float* data_;
  int64_t step_;
};

/// The distances of elements to their mean.
struct Distances {
  Distances(const float* numbers, const Centre& mean) : x(numbers), number(mean.number), rest(mean.rest) {}
  template <class X>
  HWY_INLINE X at(int64_t i) const {
    return X::load(x + i) - number.at<X>(i) - rest.at<X>(i);
  }
  const float* x;
  Spread number, rest;
};

/// Returns the sum of f(i, X) over a row, in four independent sums of vectors.
template <class F>
HWY_INLINE float sum_over(int64_t count, F&& f) {
  V a = 0, b = 0, c = 0, d = 0;
  int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth) {
    a = a + f(i, V(0));
    b = b + f(i + kWidth, V(0));
    c = c + f(i + 2 * kWidth, V(0));
    d = d + f(i + 3 * kWidth, V(0));
  }
  for (; i + kWidth <= count; i += kWidth) a = a + f(i, V(0));
  float rest = 0;
  for (; i < count; ++i) rest += f(i, One(0)).value;
  return sum_of((a + b) + (c + d)) + rest;
}

Moments moments(const float* x, int64_t count, bool centred) {
  const auto size = static_cast<double>(count);
  float mean = 0;
  if (centred) mean = static_cast<float>(sum_over(count, [&]<class X>(int64_t i, X) { return X::load(x + i); }) / size);
  // The mean was rounded: subtract the mean of the distances to it as well.
  double rest = 0;
  if (centred) rest = sum_over(count, [&]<class X>(int64_t i, X) { return X::load(x + i) - X(mean); }) / size;
  const auto left = static_cast<float>(rest);
  const float squares = sum_over(count, [&]<class X>(int64_t i, X) {
    const X distance = X::load(x + i) - X(mean) - X(left);
    return distance * distance;
  });
  return {size, mean + rest, squares};
}

void affine(const float* x, const Centre& mean, float scale, Coefficients a, Coefficients c, float* z, int64_t count) {
  const Distances distances(x, mean);
  const Spread factors(a), terms(c);
  each(count, [&]<class X>(int64_t i, X) {
    store(fma(distances.at<X>(i) * X(scale), factors.at<X>(i), terms.at<X>(i)), z + i);
  });
}

void combine(const float* g, const float* x, const Centre& mean, float scale, Coefficients a, Coefficients b,
             Coefficients c, float* z, int64_t count) {
  const Distances distances(x, mean);
  const Spread slopes(a), factors(b), terms(c);
  each(count, [&]<class X>(int64_t i, X) {
    const X inner = fma(factors.at<X>(i), distances.at<X>(i), terms.at<X>(i));
    store(X(scale) * fma(slopes.at<X>(i), X::load(g + i), inner), z + i);
  });
}

void product_sums(const float* g, Coefficients a, const float* x, float mean, int64_t count, double* sums) {
  const Spread factors(a);
  struct Sums {
    V slopes, products, distances;
    HWY_INLINE void add(V slope, V distance) {
      slopes = slopes + slope, products = products + slope * distance, distances = distances + distance;
    }
  } even{V(0), V(0), V(0)}, odd = even;
  const auto slope = [&](int64_t i) { return factors.at<V>(i) * V::load(g + i); };
  const auto distance = [&](int64_t i) { return V::load(x + i) - V(mean); };
  int64_t i = 0;
  for (; i + 2 * kWidth <= count; i += 2 * kWidth) {
    even.add(slope(i), distance(i));
    odd.add(slope(i + kWidth), distance(i + kWidth));
  }
  if (i + kWidth <= count) even.add(slope(i), distance(i)), i += kWidth;
  float rest[3] = {};
  for (; i < count; ++i) {
    const float own_slope = factors.at<One>(i).value * g[i], own_distance = x[i] - mean;
    rest[0] += own_slope, rest[1] += own_slope * own_distance, rest[2] += own_distance;
  }
  sums[0] += sum_of(even.slopes + odd.slopes) + rest[0];
  sums[1] += sum_of(even.products + odd.products) + rest[1];
  sums[2] += sum_of(even.distances + odd.distances) + rest[2];
}

void add_gradients(const float* g, const float* x, const Centre& mean, float scale, int64_t count, float* sums,
                   float* products) {
  const Distances distances(x, mean);
  each(count, [&]<class X>(int64_t i, X) {
    const X slope = X::load(g + i);
    store(X::load(sums + i) + slope, sums + i);
    store(fma(slope * distances.at<X>(i), X(scale), X::load(products + i)), products + i);
  });
}

void layer_gradients(const float* x, const float* g, const LayerRows& s, int64_t rows, float* z, float* dweight,
                     float* dbias) {
  // Each step is done for several short rows before the next step, so that no row waits for its own sums.
  constexpr int64_t kTogether = 16, kTogetherElements = 1024;
  struct Row {
    float near = 0;       // the mean, rounded
    double sums[3] = {};  // the sums of weight * g, of weight * g * (x - near), and of x - near
    float left = 0, scale = 0, b = 0, c = 0;
  };
  const int64_t together = std::clamp<int64_t>(kTogetherElements / s.length, 1, kTogether);
  const auto count = static_cast<double>(s.length);
  for (; rows > 0; rows -= together) {
    Row some[kTogether];
    const int64_t step = std::min(together, rows) * s.length;
    const auto each_row = [&](auto&& f) {
      for (int64_t at = 0; at < step; at += s.length) f(some[at / s.length], x + at, g + at, at);
    };
    if (s.centred)
      each_row([&](Row& row, const float* from, const float*, int64_t) HWY_ATTR {
        row.near = static_cast<float>(
            sum_over(s.length, [&]<class X>(int64_t i, X) HWY_ATTR { return X::load(from + i); }) / count);
      });
    each_row([&](Row& row, const float* from, const float* slopes, int64_t) {
      product_sums(slopes, {s.weight, 1}, from, row.near, s.length, row.sums);
      const double rest = s.centred ? row.sums[2] / count : 0;
      row.left = static_cast<float>(rest);
      row.sums[1] -= rest * row.sums[0];
    });
    each_row([&](Row& row, const float* from, const float*, int64_t) HWY_ATTR {
      const float squares = sum_over(s.length, [&]<class X>(int64_t i, X) HWY_ATTR {
        const X distance = X::load(from + i) - X(row.near) - X(row.left);
        return distance * distance;
      });
      // dx = (weight * g - mean(weight * g) - (x - mean) * mean(weight * g * (x - mean)) / deviation^2) / deviation
      const double inverse = 1 / std::sqrt(squares / count + s.epsilon);
      row.scale = static_cast<float>(inverse);
      row.b = static_cast<float>(-inverse * inverse * row.sums[1] / count);
      row.c = s.centred ? static_cast<float>(-row.sums[0] / count) : 0.0f;
    });
    each_row([&](const Row& row, const float* from, const float* slopes, int64_t at) HWY_ATTR {
      each(s.length, [&]<class X>(int64_t i, X) HWY_ATTR {
        const X slope = X::load(slopes + i), distance = X::load(from + i) - X(row.near) - X(row.left);
        store(X(row.scale) * fma(X::load(s.weight + i), slope, fma(X(row.b), distance, X(row.c))), z + at + i);
        store(X::load(dbias + i) + slope, dbias + i);
        store(fma(slope * distance, X(row.scale), X::load(dweight + i)), dweight + i);
      });
    });
    x += step, g += step, z += step;
  }
}

const NormRows* rows() {
  static constexpr NormRows kRows{moments, affine, combine, product_sums, add_gradients, layer_gradients};
  return &kRows;
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(rows);
const NormRows& norm_rows() { return *HWY_DYNAMIC_DISPATCH(rows)(); }

}  // namespace kiln::cpu::simd
#endif
