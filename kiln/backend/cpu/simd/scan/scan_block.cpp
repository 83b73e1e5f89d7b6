// The inner loops of scans, once per target. If the scanned axis is strided, the compiler vectorises plain loops across
// neighbouring lines. If it is contiguous, eight lines are scanned at a time, so that no addition waits for
// the one before it.
#include "kiln/backend/cpu/simd/scan/scan_block.hpp"

#include <algorithm>

#include "kiln/backend/cpu/simd/reduce/arg_fold.hpp"
#include "kiln/core/wrapping.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/scan/scan_block.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

template <bool product, class A>
HWY_INLINE A join(A a, A b) {
  if constexpr (product) return wrapping_multiply(a, b);
  else return wrapping_add(a, b);
}

/// One step of `columns` lines, whose elements are x_step and z_step apart. Callers pass the constant 1 where the loop
/// is to be vectorised.
template <class C, bool product, bool exclusive, class A>
HWY_INLINE void fold_row(A* HWY_RESTRICT folded, const C* HWY_RESTRICT x, std::int64_t x_step, C* HWY_RESTRICT z,
                         std::int64_t z_step, std::int64_t columns) {
  for (std::int64_t i = 0; i < columns; ++i) {
    const A before = folded[i], after = join<product>(before, static_cast<A>(x[i * x_step]));
    folded[i] = after;
    z[i * z_step] = static_cast<C>(exclusive ? before : after);
  }
}
template <class C, bool product, class A>
HWY_INLINE void total_row(A* HWY_RESTRICT folded, const C* HWY_RESTRICT x, std::int64_t x_step, std::int64_t columns) {
  for (std::int64_t i = 0; i < columns; ++i) folded[i] = join<product>(folded[i], static_cast<A>(x[i * x_step]));
}

template <class C, bool product, bool exclusive>
HWY_FLATTEN void fold_block(const ScanBlock<C>& block, ScanState<C>& running) {
  using A = typename ScanState<C>::A;
  // Numbers that are constants have a type of their own here, so that the loops over them are compiled separately.
  const auto fold_rows = [&](A* folded, auto x_column, auto z_column, auto columns) HWY_ATTR {
    const C* x = block.x;
    C* z = block.z;
    for (std::int64_t row = 0; row < block.rows; ++row, x += block.x_steps.row) {
      if (!z) {
        total_row<C, product>(folded, x, x_column, columns);
      } else {
        fold_row<C, product, exclusive>(folded, x, x_column, z, z_column, columns);
        z += block.z_steps.row;
      }
    }
  };
  const std::integral_constant<std::int64_t, 1> one;
  const std::int64_t x_column = block.x_steps.column, z_column = block.z_steps.column;
  if (x_column == 1 && z_column == 1) {
    fold_rows(running.folded, one, one, block.columns);
  } else if (block.columns == kContiguousLines) {
    A folded[kContiguousLines];
    std::copy_n(running.folded, kContiguousLines, folded);
    fold_rows(folded, x_column, z_column, std::integral_constant<std::int64_t, kContiguousLines>());
    std::copy_n(folded, kContiguousLines, running.folded);
  } else {
    fold_rows(running.folded, x_column, z_column, block.columns);
  }
}

/// Scans one line for extremes. As an extreme is seldom replaced, the loop searches for the next better element and
/// then fills the results before it.
template <class C, bool largest>
void extreme_line(const ScanBlock<C>& block, std::int64_t column, ScanState<C>& running) {
  const Steps x_step = block.x_steps, z_step = block.z_steps, places_step = block.places_steps;
  const C* x = block.x + column * x_step.column;
  C* z = block.z ? block.z + column * z_step.column : nullptr;
  std::int64_t *places = z ? block.places + column * places_step.column : nullptr, found = running.place[column];
  const std::int64_t place = block.place + column * block.place_steps.column;
  auto best = static_cast<C>(running.folded[column]);
  const auto take_if_better = [&](std::int64_t row) HWY_ATTR {
    if (found >= 0 && !beats<largest>(x[row * x_step.row], best)) return;
    best = x[row * x_step.row];
    found = place + row * block.place_steps.row;
  };
  for (std::int64_t row = 0; row < block.rows;) {
    take_if_better(row);
    const std::int64_t first = row++;
    while (row < block.rows && !beats<largest>(x[row * x_step.row], best)) ++row;
    if (!z) continue;
    for (std::int64_t i = first; i < row; ++i) z[i * z_step.row] = best;
    for (std::int64_t i = first; i < row; ++i) places[i * places_step.row] = found;
  }
  running.folded[column] = static_cast<typename ScanState<C>::A>(best);
  running.place[column] = found;
}

template <class C, bool largest>
void extreme_block(const ScanBlock<C>& block, ScanState<C>& running) {
  using A = typename ScanState<C>::A;
  const bool neighbours = block.x_steps.column == 1 && block.z_steps.column == 1 && block.places_steps.column == 1 &&
                          block.place_steps.column == 0;
  if (!neighbours) {
    for (std::int64_t i = 0; i < block.columns; ++i) extreme_line<C, largest>(block, i, running);
    return;
  }
  const C* x = block.x;
  C* z = block.z;
  std::int64_t *places = block.places, place = block.place;
  for (std::int64_t row = 0; row < block.rows; ++row) {
    for (std::int64_t i = 0; i < block.columns; ++i) {
      const A next = static_cast<A>(x[i]), best = running.folded[i];
      const bool better = beats<largest>(next, best) | (running.place[i] < 0);
      running.folded[i] = better ? next : best;
      running.place[i] = better ? place : running.place[i];
    }
    x += block.x_steps.row;
    place += block.place_steps.row;
    if (!z) continue;
    for (std::int64_t i = 0; i < block.columns; ++i) z[i] = static_cast<C>(running.folded[i]);
    for (std::int64_t i = 0; i < block.columns; ++i) places[i] = running.place[i];
    z += block.z_steps.row;
    places += block.places_steps.row;
  }
}

/// One step of a vector of lines. `largest` is the largest element so far, and `scale` the sum of exp(x - largest).
HWY_INLINE void log_sum_exp_step(Vector<double> x, Vector<double>& largest, Vector<double>& scale) {
  const Mask<double> above = (x > largest) | is_nan(x);
  const Vector<double> least = exp(-abs(x - largest));
  const Vector<double> next = select(above, scale * least + 1, scale + least);
  scale = select((!above) & is_inf(largest), scale, next);  // x - inf may be NaN
  largest = select(above, x, largest);
}
template <class C>
void log_sum_exp_block(const ScanBlock<C>& block, ScanState<C>& running) {
  constexpr auto kWidth = static_cast<std::int64_t>(kLanes<double>);
  for (std::int64_t first = 0; first < block.columns; first += kWidth) {
    const std::int64_t count = std::min(kWidth, block.columns - first);
    double numbers[kWidth] = {}, sums[kWidth] = {};
    std::copy_n(running.folded + first, count, numbers);
    std::copy_n(running.scale + first, count, sums);
    Vector<double> largest = Vector<double>::load(numbers), scale = Vector<double>::load(sums);
    const C* x = block.x + first * block.x_steps.column;
    C* z = block.z ? block.z + first * block.z_steps.column : nullptr;
    for (std::int64_t row = 0; row < block.rows; ++row, x += block.x_steps.row) {
      for (std::int64_t i = 0; i < count; ++i) numbers[i] = static_cast<double>(x[i * block.x_steps.column]);
      log_sum_exp_step(Vector<double>::load(numbers), largest, scale);
      if (!z) continue;
      double results[kWidth];
      store(largest + log(scale), results);
      for (std::int64_t i = 0; i < count; ++i) z[i * block.z_steps.column] = static_cast<C>(results[i]);
      z += block.z_steps.row;
    }
    store(largest, numbers);
    store(scale, sums);
    std::copy_n(numbers, count, running.folded + first);
    std::copy_n(sums, count, running.scale + first);
  }
}

template <class C>
void scan(op::ScanFn fn, bool exclusive, const ScanBlock<C>& block, ScanState<C>& running) {
  switch (fn) {
    case op::ScanFn::Sum:
      return exclusive ? fold_block<C, false, true>(block, running) : fold_block<C, false, false>(block, running);
    case op::ScanFn::Prod:
      return exclusive ? fold_block<C, true, true>(block, running) : fold_block<C, true, false>(block, running);
    case op::ScanFn::Max: return extreme_block<C, true>(block, running);
    case op::ScanFn::Min: return extreme_block<C, false>(block, running);
    case op::ScanFn::LogSumExp:
      if constexpr (std::is_floating_point_v<C>) log_sum_exp_block(block, running);
      return;
  }
}

template <class C>
void recur(const C* a, const C* b, C* y, std::int64_t rows, std::int64_t columns, Steps steps) {
  double so_far[kScanColumns] = {};
  const auto step = [&](const C* HWY_RESTRICT a_row, const C* HWY_RESTRICT b_row, C* HWY_RESTRICT y_row,
                        std::int64_t apart, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      so_far[i] = static_cast<double>(a_row[i * apart]) * so_far[i] + static_cast<double>(b_row[i * apart]);
      y_row[i * apart] = static_cast<C>(so_far[i]);
    }
  };
  for (std::int64_t row = 0; row < rows; ++row, a += steps.row, b += steps.row, y += steps.row) {
    if (steps.column == 1) step(a, b, y, 1, columns);
    else if (columns == kContiguousLines) step(a, b, y, steps.column, kContiguousLines);
    else step(a, b, y, steps.column, columns);
  }
}

template <class C>
constexpr ScanKernels<C> kScanKernels{scan<C>, recur<C>};

const ScanKernels<float>& scans_float() { return kScanKernels<float>; }
const ScanKernels<double>& scans_double() { return kScanKernels<double>; }
const ScanKernels<std::int64_t>& scans_int64() { return kScanKernels<std::int64_t>; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(scans_float);
HWY_EXPORT(scans_double);
HWY_EXPORT(scans_int64);
template <> const ScanKernels<float>& scan_kernels() { return HWY_DYNAMIC_DISPATCH(scans_float)(); }
template <> const ScanKernels<double>& scan_kernels() { return HWY_DYNAMIC_DISPATCH(scans_double)(); }
template <> const ScanKernels<std::int64_t>& scan_kernels() { return HWY_DYNAMIC_DISPATCH(scans_int64)(); }

}  // namespace kiln::cpu::simd
#endif
