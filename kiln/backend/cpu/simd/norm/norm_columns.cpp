#include "kiln/backend/cpu/simd/norm/norm_columns.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/norm/norm_columns.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/norm/each_number.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

/// Four adjacent vectors, so that several cache lines of each row are read together.
struct Four {
  V a, b, c, d;
  Four(float number) : a(number), b(number), c(number), d(number) {}
  HWY_INLINE Four(V a, V b, V c, V d) : a(a), b(b), c(c), d(d) {}
  static HWY_INLINE Four load(const float* from) {
    return {V::load(from), V::load(from + kWidth), V::load(from + 2 * kWidth), V::load(from + 3 * kWidth)};
  }
  friend HWY_INLINE Four operator+(Four x, Four y) { return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d}; }
  friend HWY_INLINE Four operator-(Four x, Four y) { return {x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d}; }
  friend HWY_INLINE Four operator*(Four x, Four y) { return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d}; }
  friend HWY_INLINE Four operator/(Four x, Four y) { return {x.a / y.a, x.b / y.b, x.c / y.c, x.d / y.d}; }
  friend HWY_INLINE Four fma(Four x, Four y, Four z) {
    return {fma(x.a, y.a, z.a), fma(x.b, y.b, z.b), fma(x.c, y.c, z.c), fma(x.d, y.d, z.d)};
  }
};
HWY_INLINE void store(Four x, float* to) {
  store(x.a, to), store(x.b, to + kWidth), store(x.c, to + 2 * kWidth), store(x.d, to + 3 * kWidth);
}

/// Calls step(i, X) for all columns: four vectors at a time, then one vector, then one number.
template <class F>
HWY_INLINE void each_column(int64_t count, F&& step) {
  int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth) step(i, Four(0));
  for (; i + kWidth <= count; i += kWidth) step(i, V(0));
  for (; i < count; ++i) step(i, One(0));
}

/// Returns the sum of f(row), in two independent sums, as each addition waits for the one before it.
template <class X, class F>
HWY_INLINE X over_rows(int64_t rows, F&& f) {
  X even = 0, odd = 0;
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2) even = even + f(row), odd = odd + f(row + 1);
  if (row < rows) even = even + f(row);
  return even + odd;
}

void moments(const float* x, const Columns& columns, float* means, float* rests, float* squares) {
  const auto size = static_cast<float>(columns.rows);
  each_column(columns.count, [&]<class X>(int64_t i, X) HWY_ATTR {
    const auto number = [&](int64_t row) HWY_ATTR { return X::load(x + row * columns.step + i); };
    const X mean = over_rows<X>(columns.rows, number) / X(size);
    const X rest = over_rows<X>(columns.rows, [&](int64_t row) HWY_ATTR { return number(row) - mean; }) / X(size);
    store(mean, means + i);
    store(rest, rests + i);
    store(over_rows<X>(columns.rows,
                       [&](int64_t row) HWY_ATTR {
                         const X distance = number(row) - mean - rest;
                         return distance * distance;
                       }),
          squares + i);
  });
}

void affine(const float* x, const Columns& columns, const ColumnMeans& mean, const float* a, const float* c, float* z) {
  each_column(columns.count, [&]<class X>(int64_t i, X) HWY_ATTR {
    const X number = X::load(mean.number + i), rest = X::load(mean.rest + i), factor = X::load(a + i),
            term = X::load(c + i);
    for (int64_t row = 0; row < columns.rows; ++row)
      store(fma(X::load(x + row * columns.step + i) - number - rest, factor, term), z + row * columns.step + i);
  });
}

void products(const float* g, const float* x, const Columns& columns, const float* mean, float* sums, float* products,
              float* distances) {
  each_column(columns.count, [&]<class X>(int64_t i, X) HWY_ATTR {
    const X middle = X::load(mean + i);
    const auto slope = [&](int64_t row) HWY_ATTR { return X::load(g + row * columns.step + i); };
    const auto distance = [&](int64_t row) HWY_ATTR { return X::load(x + row * columns.step + i) - middle; };
    store(over_rows<X>(columns.rows, slope), sums + i);
    store(over_rows<X>(columns.rows, [&](int64_t row) HWY_ATTR { return slope(row) * distance(row); }), products + i);
    store(over_rows<X>(columns.rows, distance), distances + i);
  });
}

void combine(const float* g, const float* x, const Columns& columns, const ColumnMeans& mean, const float* a,
             const float* b, const float* c, float* z) {
  each_column(columns.count, [&]<class X>(int64_t i, X) HWY_ATTR {
    const X number = X::load(mean.number + i), rest = X::load(mean.rest + i), slope = X::load(a + i),
            factor = X::load(b + i), term = X::load(c + i);
    for (int64_t row = 0; row < columns.rows; ++row) {
      const int64_t at = row * columns.step + i;
      store(fma(slope, X::load(g + at), fma(factor, X::load(x + at) - number - rest, term)), z + at);
    }
  });
}

const NormColumns* columns() {
  static constexpr NormColumns kColumns{moments, affine, products, combine};
  return &kColumns;
}

}  // namespace
}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(columns);
const NormColumns& norm_columns() { return *HWY_DYNAMIC_DISPATCH(columns)(); }

}  // namespace kiln::cpu::simd
#endif
