#include "kiln/backend/cpu/simd/product/panel_rows.hpp"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/product/panel_rows.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/simd/product/tile_parts.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

/// The rows of a tile that reads panels side by side. Its columns may begin in the middle of a panel, so that it reads
/// fewer numbers for as many sums.
constexpr std::size_t kMostRowsAcross = kMostSums >= 24 ? 8 : 6;  // bench: suite lstm_train

/// Computes the sums of `Rows` rows, from vector `First` of b's panel on; I counts the vectors of a row. There are so
/// many sums that none waits for another one, and that data of the panels has time to arrive from a farther cache.
template <class T, std::size_t Rows, std::size_t First, std::size_t... I, std::size_t... S>
HWY_INLINE void rows_by_panels(const T* a, int64_t a_row, const T* b, int64_t step, T* c, int64_t c_row, int64_t k,
                               bool add, Indices<I...>, Indices<S...>) {
  constexpr std::size_t kAcross = sizeof...(I);
  Vector<T> sums[] = {((void)S, Vector<T>(0))...};
  const auto place = [=](std::size_t i) HWY_ATTR {
    return static_cast<int64_t>((First + i) / kVectors) * step +
           static_cast<int64_t>((First + i) % kVectors) * kWidth<T>;
  };
  for (const T* const end = a + k; a < end; ++a, b += kPanel<T>) {
    (hwy::Prefetch(b + kRowsAhead * kPanel<T> + place(I)), ...);
    const Vector<T> right[] = {Vector<T>::load(b + place(I))...};
    ((sums[S] = fma(Vector<T>(a[static_cast<int64_t>(S / kAcross) * a_row]), right[S % kAcross], sums[S])), ...);
  }
  const auto result = [=](std::size_t s) HWY_ATTR {
    return c + static_cast<int64_t>(s / kAcross) * c_row + static_cast<int64_t>(s % kAcross) * kWidth<T>;
  };
  if (add) ((sums[S] = Vector<T>::load(result(S)) + sums[S]), ...);
  (store(sums[S], result(S)), ...);
}

/// Computes `tiles` tiles of `Rows` rows, which alternate in reading the panels.
template <class T, std::size_t Rows>
void some_rows(const T* a, int64_t a_row, int64_t tiles, const T* b, int64_t step, int64_t panels, T* c, int64_t c_row,
               int64_t k, bool add) {
  constexpr std::size_t kAcross = wide(Rows);
  const int64_t vectors = panels * static_cast<int64_t>(kVectors);
  for (int64_t v = 0, across = 0; v < vectors; v += across) {
    const T* const from = b + v / static_cast<int64_t>(kVectors) * step;
    const bool odd = v % 2 != 0;
    across = vectors - v >= static_cast<int64_t>(kAcross) ? static_cast<int64_t>(kAcross) : odd ? 1 : 2;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const T* const left = a + tile * static_cast<int64_t>(Rows) * a_row;
      T* const to = c + tile * static_cast<int64_t>(Rows) * c_row + v * kWidth<T>;
      const auto run = [&]<std::size_t First, std::size_t Across>() HWY_ATTR {
        rows_by_panels<T, Rows, First>(left, a_row, from, step, to, c_row, k, add, UpTo<Across>(),
                                       UpTo<Rows * Across>());
      };
      if (across == static_cast<int64_t>(kAcross)) {
        if (!odd) run.template operator()<0, kAcross>();
        else if constexpr (kAcross % 2 != 0) run.template operator()<1, kAcross>();
      } else if (odd) {
        run.template operator()<1, 1>();
      } else {
        run.template operator()<0, 2>();
      }
    }
  }
}

template <class T, std::size_t... I>
void multiply_rows(const T* a, int64_t a_row, int64_t m, const T* b, int64_t step, int64_t panels, T* c, int64_t c_row,
                   int64_t k, bool add, Indices<I...>) {
  static constexpr decltype(&some_rows<T, 1>) kSome[] = {&some_rows<T, I + 1>...};
  const int64_t rows = rows_of_tile(m, static_cast<int64_t>(sizeof...(I))), tiles = m / rows, rest = m % rows;
  kSome[rows - 1](a, a_row, tiles, b, step, panels, c, c_row, k, add);
  if (rest == 0) return;
  kSome[rest - 1](a + tiles * rows * a_row, a_row, 1, b, step, panels, c + tiles * rows * c_row, c_row, k, add);
}
template <class T>
void multiply_rows(const T* a, int64_t a_row, int64_t m, const T* b, int64_t step, int64_t panels, T* c, int64_t c_row,
                   int64_t k, bool add) {
  multiply_rows(a, a_row, m, b, step, panels, c, c_row, k, add, UpTo<kMostRowsAcross>());
}

}  // namespace

PanelRows<float> panel_rows_float() { return multiply_rows<float>; }
PanelRows<double> panel_rows_double() { return multiply_rows<double>; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(panel_rows_float);
HWY_EXPORT(panel_rows_double);
template <> PanelRows<float> panel_rows() { return HWY_DYNAMIC_DISPATCH(panel_rows_float)(); }
template <> PanelRows<double> panel_rows() { return HWY_DYNAMIC_DISPATCH(panel_rows_double)(); }

}  // namespace kiln::cpu::simd
#endif
