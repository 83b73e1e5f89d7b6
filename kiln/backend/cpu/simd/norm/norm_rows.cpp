#include "kiln/backend/cpu/simd/norm/norm_rows.hpp"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/norm/norm_rows.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/norm/norm_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// The moments of a row: the mean in two numbers of T, and the mean squared distance to it.
template <class T>
struct RowMoments {
  T near = 0, rest = 0, variance = 0;
};

template <class T>
Moments moments_in_double(const RowMoments<T>& row, int64_t count) {
  const auto size = static_cast<double>(count);
  return {size, row.near, row.rest, row.variance * size};
}

/// Computes the moments of `rows` rows of `count` contiguous numbers, row after row, each step for all of them.
template <class T>
HWY_INLINE void moments_of(const T* x, int64_t rows, int64_t count, bool centred, RowMoments<T>* moments) {
  const auto size = static_cast<T>(count);
  for (int64_t k = 0; k < rows; ++k) moments[k] = {};
  if (centred) {
    for (int64_t k = 0; k < rows; ++k) {
      const T* const row = x + k * count;
      moments[k].near = sum_over<T>(count, [&](int64_t i, auto at) HWY_ATTR { return at.load(row + i); }) / size;
    }
    // The mean is rounded: the mean of the distances to it is subtracted as well.
    for (int64_t k = 0; k < rows; ++k) {
      const T *const row = x + k * count, mean = moments[k].near;
      moments[k].rest = sum_over<T>(count, [&](int64_t i, auto at) HWY_ATTR { return at.load(row + i) - mean; }) / size;
    }
  }
  for (int64_t k = 0; k < rows; ++k) {
    const T *const row = x + k * count, mean = moments[k].near, left = moments[k].rest;
    const T squares = sum_over<T>(count, [&](int64_t i, auto at) HWY_ATTR {
      const Vector<T> distance = at.load(row + i) - mean - left;
      return distance * distance;
    });
    moments[k].variance = squares / size;
  }
}

/// Calls f(offset, count) for the pieces of a row, whose float sums are exact enough.
template <class F>
HWY_INLINE void each_piece(const NormPlan& plan, F&& f) {
  for (int64_t run = 0; run < plan.runs; ++run)
    for (int64_t i = 0; i < plan.length; i += kNormPiece)
      f(run * plan.apart + i, std::min(kNormPiece, plan.length - i));
}
bool is_one_piece(const NormPlan& plan) { return plan.runs == 1 && plan.length <= kNormPiece; }
/// Computes the moments of one row of several pieces.
template <class T>
HWY_INLINE Moments moments_of_pieces(const NormPlan& plan, const T* x) {
  Moments all;
  each_piece(plan, [&](int64_t at, int64_t count) HWY_ATTR {
    RowMoments<T> piece;
    moments_of(x + at, 1, count, plan.centred, &piece);
    all.merge(moments_in_double(piece, count));
  });
  return all;
}
/// Calls f(row, count) for rows [begin, end): some rows at a time if they are short.
template <class F>
HWY_INLINE void parallel_rows(const NormPlan& plan, int64_t elements, int64_t begin, int64_t end, F&& f) {
  interleave_rows(end - begin, plan.runs == 1 ? plan.length : elements, elements,
                  [&](int64_t row, int64_t count) HWY_ATTR { f(begin + row, count); });
}

/// The mean of a row's moments in two numbers of T.
template <class T>
RowMoments<T> mean_of(const Moments& m) {
  if constexpr (std::is_same_v<T, double>) return {m.near, m.rest};
  const auto near = static_cast<T>(m.mean());
  return {near, static_cast<T>(m.mean() - near)};
}

/// z = (x - mean) * scale * weight + bias for one row, from its first element and its first weight on.
template <class T>
HWY_INLINE void affine_row(const NormPlan& plan, const NormForward<T>& from, const RowMoments<T>& mean, T scale) {
  for (int64_t run = 0; run < plan.runs; ++run) {
    const T* const x = from.x + run * plan.apart;
    T* const z = from.z + run * plan.apart;
    const auto affine = [&](int64_t begin, int64_t count, auto&& weight, auto&& bias) HWY_ATTR {
      each<T>(count, [&](int64_t i, auto at) HWY_ATTR {
        const Vector<T> normal = (at.load(x + begin + i) - mean.near - mean.rest) * scale;
        at.store(fma(normal, weight(i, at), bias(i, at)), z + begin + i);
      });
    };
    if (plan.inner == 1) {
      affine(
          0, plan.length, [&](int64_t i, auto at) HWY_ATTR { return at.load(from.weight + i); },
          [&](int64_t i, auto at) HWY_ATTR { return at.load(from.bias + i); });
    } else {
      for (int64_t c = 0; c < plan.weights(); ++c) {
        const Vector<T> weight = from.weight[c], bias = from.bias[c];
        affine(
            c * plan.inner, plan.inner, [&](int64_t, auto) HWY_ATTR { return weight; },
            [&](int64_t, auto) HWY_ATTR { return bias; });
      }
    }
  }
}

template <class T>
HWY_INLINE void normalise(const NormPlan& plan, const NormForward<T>& call, int64_t begin, int64_t end) {
  parallel_rows(plan, kInterleavedElements, begin, end, [&](int64_t row, int64_t count) HWY_ATTR {
    const int64_t first = (row - begin) * plan.length;
    RowMoments<T> moments[kInterleavedRows];
    T scales[kInterleavedRows];
    if (is_one_piece(plan)) {
      moments_of(call.x + first, count, plan.length, plan.centred, moments);
      // Rows that share all weights are many and short; a channel's variance may be beyond float32.
      for (int64_t k = 0; k < count; ++k)
        scales[k] = plan.kinds == 1 ? 1 / std::sqrt(moments[k].variance + static_cast<T>(plan.epsilon))
                                    : static_cast<T>(1 / std::sqrt(moments[k].variance + plan.epsilon));
      for (int64_t k = 0; k < count && call.moments; ++k)
        call.moments[row - begin + k] = moments_in_double(moments[k], plan.length);
    } else {
      const Moments all = moments_of_pieces(plan, call.x + first);
      moments[0] = mean_of<T>(all);
      scales[0] = static_cast<T>(1 / std::sqrt(all.variance() + plan.epsilon));
      if (call.moments) call.moments[row - begin] = all;
    }
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = first + k * plan.length, weight = (row + k) % plan.kinds * plan.weights();
      affine_row<T>(plan, {call.x + at, call.weight + weight, call.bias + weight, call.z + at}, moments[k], scales[k]);
    }
  });
}
void normalise_floats(const NormPlan& plan, const NormForward<float>& call, int64_t begin, int64_t end) {
  normalise(plan, call, begin, end);
}
void normalise_doubles(const NormPlan& plan, const NormForward<double>& call, int64_t begin, int64_t end) {
  normalise(plan, call, begin, end);
}

using V = Vector<float>;

/// Adds the sums of slope, of slope * (x - mean) and of x - mean, where slope is g * weight(i, at).
template <class Weight>
HWY_INLINE void add_products(const float* g, const float* x, float mean, int64_t count, Weight&& weight, double* sums) {
  constexpr auto lanes = static_cast<int64_t>(kLanes<float>);
  struct Sums {
    V slopes, products, distances;
    HWY_INLINE void add(V slope, V distance) {
      slopes = slopes + slope, products = products + slope * distance, distances = distances + distance;
    }
  } even{V(0), V(0), V(0)}, odd = even;
  const auto add = [&](Sums& to, int64_t i, auto at)
                       HWY_ATTR { to.add(at.load(g + i) * weight(i, at), at.keep(at.load(x + i) - V(mean))); };
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) add(even, i, Whole()), add(odd, i + lanes, Whole());
  for (; i + lanes <= count; i += lanes) add(even, i, Whole());
  if (i < count) add(odd, i, First{count - i});
  sums[0] += sum_of(even.slopes + odd.slopes);
  sums[1] += sum_of(even.products + odd.products);
  sums[2] += sum_of(even.distances + odd.distances);
}

/// One row of a gradient: dx = scale * (weight * g + b * (x - near - rest) + c), which is
/// (weight * g - mean(weight * g) - (x - mean) * mean(weight * g * (x - mean)) / deviation^2) / deviation.
struct GradientRow {
  float near = 0, rest = 0, scale = 0, b = 0, c = 0;
  double inverse = 0;   // 1 / deviation
  double sums[2] = {};  // of weight * g, and of weight * g * (x - mean)
};

/// Computes a row's sums. Where weights are shared, adds its gradients of them as well.
HWY_INLINE void sum_row(const NormPlan& plan, const NormBackward& call, GradientRow& row) {
  if (plan.inner == 1) {
    double sums[3] = {};
    each_piece(plan, [&](int64_t at, int64_t count) HWY_ATTR {
      const float* const weight = call.weight + at;
      add_products(
          call.g + at, call.x + at, row.near, count,
          [&](int64_t i, auto part) HWY_ATTR { return part.load(weight + i); }, sums);
    });
    row.sums[0] = sums[0], row.sums[1] = sums[1] - static_cast<double>(row.rest) * sums[0];
    return;
  }
  NormPlan channel = plan;
  channel.length = plan.inner;
  for (int64_t c = 0; c < plan.weights(); ++c) {
    double sums[3] = {};
    each_piece(channel, [&](int64_t piece, int64_t count) HWY_ATTR {
      const int64_t at = c * plan.inner + piece;
      add_products(call.g + at, call.x + at, row.near, count, [](int64_t, auto) HWY_ATTR { return V(1); }, sums);
    });
    if (call.means) row.rest = static_cast<float>(sums[2] / static_cast<double>(plan.count()));
    const double product = sums[1] - static_cast<double>(row.rest) * sums[0], weight = call.weight[c];
    row.sums[0] += weight * sums[0], row.sums[1] += weight * product;
    call.dbias[c] += static_cast<float>(sums[0]);
    call.dweight[c] += static_cast<float>(product * row.inverse);
  }
}
/// Writes dx for a row. Where each element has its own weight, adds the row's gradients of them as well.
HWY_INLINE void write_row(const NormPlan& plan, const NormBackward& call, const GradientRow& row) {
  const V near = row.near, rest = row.rest, scale = row.scale, b = row.b, c = row.c;
  if (plan.inner == 1) {
    each<float>(plan.length, [&](int64_t i, auto at) HWY_ATTR {
      const V slope = at.load(call.g + i), distance = at.load(call.x + i) - near - rest;
      at.store(scale * fma(at.load(call.weight + i), slope, fma(b, distance, c)), call.dx + i);
      at.store(at.load(call.dbias + i) + slope, call.dbias + i);
      at.store(fma(slope * distance, scale, at.load(call.dweight + i)), call.dweight + i);
    });
    return;
  }
  for (int64_t run = 0; run < plan.runs; ++run)
    for (int64_t k = 0; k < plan.weights(); ++k) {
      const int64_t first = run * plan.apart + k * plan.inner;
      const V weight = call.weight[k];
      each<float>(plan.inner, [&](int64_t i, auto at) HWY_ATTR {
        const V slope = at.load(call.g + first + i), distance = at.load(call.x + first + i) - near - rest;
        at.store(scale * fma(weight, slope, fma(b, distance, c)), call.dx + first + i);
      });
    }
}

void gradient_rows(const NormPlan& plan, const NormBackward& call, int64_t begin, int64_t end) {
  constexpr int64_t kElements = 1024;
  const auto size = static_cast<double>(plan.count());
  parallel_rows(plan, kElements, begin, end, [&](int64_t first, int64_t count) HWY_ATTR {
    GradientRow rows[kInterleavedRows];
    const auto of_row = [&](int64_t k) {
      const int64_t at = (first + k) * plan.length, weight = (first + k) % plan.kinds * plan.weights();
      return NormBackward{call.x + at,           call.g + at,         call.weight + weight, call.dx + at,
                          call.dweight + weight, call.dbias + weight, call.means,           call.variances};
    };
    RowMoments<float> moments[kInterleavedRows] = {};
    double variances[kInterleavedRows];
    if (call.means) {
      for (int64_t k = 0; k < count; ++k)
        moments[k].near = call.means[first + k], variances[k] = call.variances[first + k];
    } else if (is_one_piece(plan)) {
      moments_of(call.x + first * plan.length, count, plan.length, plan.centred, moments);
      for (int64_t k = 0; k < count; ++k) variances[k] = moments[k].variance;
    } else {
      const Moments all = moments_of_pieces(plan, call.x + first * plan.length);
      moments[0] = mean_of<float>(all);
      variances[0] = all.variance();
    }
    for (int64_t k = 0; k < count; ++k) {
      rows[k].near = moments[k].near, rows[k].rest = moments[k].rest;
      rows[k].inverse = 1 / std::sqrt(variances[k] + plan.epsilon);
    }
    for (int64_t k = 0; k < count; ++k) sum_row(plan, of_row(k), rows[k]);
    for (int64_t k = 0; k < count; ++k) {
      GradientRow& row = rows[k];
      row.scale = static_cast<float>(row.inverse);
      row.b = static_cast<float>(-row.inverse * row.inverse * row.sums[1] / size);
      row.c = plan.centred ? static_cast<float>(-row.sums[0] / size) : 0.0f;
    }
    for (int64_t k = 0; k < count; ++k) write_row(plan, of_row(k), rows[k]);
  });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(normalise_floats);
HWY_EXPORT(normalise_doubles);
HWY_EXPORT(gradient_rows);
void normalise_rows(const NormPlan& plan, const NormForward<float>& call, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(normalise_floats)(plan, call, begin, end);
}
void normalise_rows(const NormPlan& plan, const NormForward<double>& call, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(normalise_doubles)(plan, call, begin, end);
}
void norm_gradient_rows(const NormPlan& plan, const NormBackward& call, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(gradient_rows)(plan, call, begin, end);
}

}  // namespace kiln::cpu::simd
#endif
