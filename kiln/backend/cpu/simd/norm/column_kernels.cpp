#include "kiln/backend/cpu/simd/norm/column_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/norm/column_kernels.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/norm/norm_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using V = Vector<float>;
constexpr auto kWidth = static_cast<int64_t>(kLanes<float>);

/// Four adjacent vectors, so that several cache lines of each row are read together.
struct Four {
  V a, b, c, d;
  friend HWY_INLINE Four operator+(Four x, Four y) { return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d}; }
  friend HWY_INLINE Four operator-(Four x, Four y) { return {x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d}; }
  friend HWY_INLINE Four operator*(Four x, Four y) { return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d}; }
  friend HWY_INLINE Four operator*(Four x, V y) { return {x.a * y, x.b * y, x.c * y, x.d * y}; }
  friend HWY_INLINE Four fma(Four x, Four y, Four z) {
    return {fma(x.a, y.a, z.a), fma(x.b, y.b, z.b), fma(x.c, y.c, z.c), fma(x.d, y.d, z.d)};
  }
};
struct WholeFour {
  static HWY_INLINE Four load(const float* from) {
    return {V::load(from), V::load(from + kWidth), V::load(from + 2 * kWidth), V::load(from + 3 * kWidth)};
  }
  static HWY_INLINE void store(Four x, float* to) {
    simd::HWY_NAMESPACE::store(x.a, to), simd::HWY_NAMESPACE::store(x.b, to + kWidth);
    simd::HWY_NAMESPACE::store(x.c, to + 2 * kWidth), simd::HWY_NAMESPACE::store(x.d, to + 3 * kWidth);
  }
};

/// Calls step(i, at) for all columns: four vectors at a time, then one, then what is left.
template <class F>
HWY_INLINE void each_column(int64_t count, F&& step) {
  int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth) step(i, WholeFour());
  each<float>(count - i, [&](int64_t k, auto at) HWY_ATTR { step(i + k, at); });
}

/// Returns the sum of f(row), in two independent sums, as each addition waits for the one before it.
template <class F>
HWY_INLINE auto over_rows(int64_t rows, F&& f) {
  auto even = f(0);
  if (rows == 1) return even;
  auto odd = f(1);
  int64_t row = 2;
  for (; row + 2 <= rows; row += 2) even = even + f(row), odd = odd + f(row + 1);
  if (row < rows) even = even + f(row);
  return even + odd;
}

void moments(const float* x, const ColumnBlock& block, float* means, float* rests, float* squares) {
  const V inverse = 1 / static_cast<float>(block.rows);
  x += block.at();
  each_column(block.count, [&](int64_t i, auto at) HWY_ATTR {
    const auto number = [&](int64_t row) HWY_ATTR { return at.load(x + row * block.step + i); };
    const auto mean = over_rows(block.rows, number) * inverse;
    const auto rest = over_rows(block.rows, [&](int64_t row) HWY_ATTR { return number(row) - mean; }) * inverse;
    at.store(mean, means + i);
    at.store(rest, rests + i);
    const auto square = [&](int64_t row) HWY_ATTR {
      const auto distance = number(row) - mean - rest;
      return distance * distance;
    };
    at.store(over_rows(block.rows, square), squares + i);
  });
}

void products(const float* g, const float* x, const ColumnBlock& block, const float* means, float* sums) {
  g += block.at(), x += block.at();
  each_column(block.count, [&](int64_t i, auto at) HWY_ATTR {
    const auto mean = at.load(means + i);
    const auto slope = [&](int64_t row) HWY_ATTR { return at.load(g + row * block.step + i); };
    const auto distance = [&](int64_t row) HWY_ATTR { return at.load(x + row * block.step + i) - mean; };
    at.store(over_rows(block.rows, slope), sums + i);
    at.store(over_rows(block.rows, [&](int64_t row) HWY_ATTR { return slope(row) * distance(row); }),
             sums + kMostColumns + i);
    at.store(over_rows(block.rows, distance), sums + 2 * kMostColumns + i);
  });
}

void combine(const float* g, const float* x, const ColumnBlock& block, const ColumnTerms& terms, float* z) {
  x += block.at(), z += block.at();
  if (g) g += block.at();
  each_column(block.count, [&](int64_t i, auto at) HWY_ATTR {
    const int64_t column = block.first + i;
    const auto mean = at.load(terms.means + column), rest = at.load(terms.rests + column),
               b = at.load(terms.b + column), c = at.load(terms.c + column);
    const auto linear = [&](int64_t k) HWY_ATTR { return fma(at.load(x + k) - mean - rest, b, c); };
    const int64_t end = i + block.rows * block.step;
    if (g) {
      const auto a = at.load(terms.a + column);
      for (int64_t k = i; k < end; k += block.step) at.store(fma(a, at.load(g + k), linear(k)), z + k);
    } else {
      for (int64_t k = i; k < end; k += block.step) at.store(linear(k), z + k);
    }
  });
}

const ColumnKernels* kernels() {
  static constexpr ColumnKernels kKernels{moments, products, combine};
  return &kKernels;
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(kernels);
const ColumnKernels& column_kernels() { return *HWY_DYNAMIC_DISPATCH(kernels)(); }

}  // namespace kiln::cpu::simd
#endif
