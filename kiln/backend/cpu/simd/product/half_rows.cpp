// Products of few rows of a half type with a matrix whose columns lie in one piece each, as weights of a layer do for one
// token: as fast as the matrix comes from memory. Sums are made in float32 and rounded once.
#include "kiln/backend/cpu/simd/product/half_rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/product/half_rows.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

using std::int64_t;
using Floats = Vector<float>;
constexpr auto kWidth = static_cast<int64_t>(kLanes<float>);
/// Columns that are read side by side.
constexpr std::size_t kColumns = 4;

template <class H>
HWY_INLINE Floats load_halves(const H* from) {
  const Floats::Tag tag;
  return hn::PromoteTo(tag, hn::LoadU(hn::Rebind<H, Floats::Tag>(), from));
}

/// Rows x Columns sums, I counts them row by row.
template <class H, std::size_t Columns, std::size_t... I>
HWY_INLINE void sums_of(const HalfRows& x, const H* column, float* to, std::index_sequence<I...>) {
  Floats sums[] = {((void)I, Floats(0))...};
  for (int64_t p = 0; p < x.depth; p += kWidth)
    ((sums[I] = fma(Floats::load(x.left + static_cast<int64_t>(I / Columns) * x.depth + p),
                    load_halves(column + static_cast<int64_t>(I % Columns) * x.column + p), sums[I])),
     ...);
  ((to[static_cast<int64_t>(I / Columns) * x.result_row + static_cast<int64_t>(I % Columns)] =
        hn::GetLane(hn::SumOfLanes(Floats::Tag(), sums[I].lanes))),
   ...);
}

template <class H, std::size_t Rows>
void columns_of(const HalfRows& x, const H* right, float* to) {
  constexpr auto kStep = static_cast<int64_t>(kColumns);
  int64_t j = 0;
  for (; j + kStep <= x.columns; j += kStep)
    sums_of<H, kColumns>(x, right + j * x.column, to + j, std::make_index_sequence<Rows * kColumns>());
  for (; j < x.columns; ++j) sums_of<H, 1>(x, right + j * x.column, to + j, std::make_index_sequence<Rows>());
}

template <class H>
void multiply_as(const HalfRows& x, const void* right, float* to) {
  static constexpr decltype(&columns_of<H, 1>) kByRows[] = {columns_of<H, 1>, columns_of<H, 2>, columns_of<H, 3>,
                                                            columns_of<H, 4>};
  static_assert(std::size(kByRows) == kMostHalfRows);
  kByRows[x.rows - 1](x, static_cast<const H*>(right), to);
}

}  // namespace

void half_rows(const HalfRows& x, DType dtype, const void* right, float* to) {
  if (dtype == DType::BF16) multiply_as<hwy::bfloat16_t>(x, right, to);
  else multiply_as<hwy::float16_t>(x, right, to);
}
int64_t half_rows_width() { return kWidth; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(half_rows);
HWY_EXPORT(half_rows_width);
void multiply_half_rows(const HalfRows& x, DType dtype, const void* right, float* to) {
  HWY_DYNAMIC_DISPATCH(half_rows)(x, dtype, right, to);
}
std::int64_t half_rows_multiple() { return HWY_DYNAMIC_DISPATCH(half_rows_width)(); }

}  // namespace kiln::cpu::simd
#endif
