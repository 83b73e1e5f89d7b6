#include "kiln/backend/cpu/simd/product/few_rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/product/few_rows.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

using std::int64_t;

// The matrix goes by in blocks of so many columns, whose sums stay in the first-level cache, and rows of it at a time,
// while the next ones are fetched. One after the other they keep more of memory's lanes busy than columns of tiles, of
// which each row lies in another page: on a Sapphire Rapids 25 GB/s in place of 10.
constexpr int64_t kColumns = 1024;
constexpr std::size_t kTerms = 4;

template <class T>
using Sums = Vector<SumOf<T>>;
template <class T>
constexpr auto kWidth = static_cast<int64_t>(kLanes<SumOf<T>>);

template <class T>
HWY_INLINE Sums<T> load(const T* from) {
  if constexpr (std::is_same_v<T, SumOf<T>>) return Sums<T>::load(from);
  else return load_half(from);
}

/// c [Rows, columns] += a [Rows, Terms] b [Terms, columns], R counting the rows and P the terms.
template <class T, std::size_t... R, std::size_t... P>
HWY_INLINE void add_terms(const SumOf<T>* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row,
                          int64_t columns, SumOf<T>* c, int64_t c_row, std::index_sequence<R...>,
                          std::index_sequence<P...>) {
  constexpr std::size_t kRows = sizeof...(R);
  const auto factors_of = [=](std::size_t p) HWY_ATTR {
    return std::array<Sums<T>, kRows>{
        Sums<T>(a[static_cast<int64_t>(R) * a_row + static_cast<int64_t>(p) * a_column])...};
  };
  const std::array<Sums<T>, kRows> factors[] = {factors_of(P)...};
  const auto add = [&](const T* from, int64_t step, SumOf<T>* to, int64_t to_step) HWY_ATTR {
    Sums<T> sums[] = {Sums<T>::load(to + static_cast<int64_t>(R) * to_step)...};
    const auto term = [&](std::size_t p) HWY_ATTR {
      const Sums<T> numbers = load(from + static_cast<int64_t>(p) * step);
      ((sums[R] = fma(factors[p][R], numbers, sums[R])), ...);
    };
    (term(P), ...);
    (store(sums[R], to + static_cast<int64_t>(R) * to_step), ...);
  };
  int64_t j = 0;
  for (; j + kWidth<T> <= columns; j += kWidth<T>) {
    (hwy::Prefetch(b + static_cast<int64_t>(P + sizeof...(P)) * b_row + j), ...);
    add(b + j, b_row, c + j, c_row);
  }
  if (j == columns) return;
  T last[sizeof...(P) * kLanes<SumOf<T>>] = {};
  SumOf<T> sums[kRows * kLanes<SumOf<T>>] = {};
  (std::copy_n(b + static_cast<int64_t>(P) * b_row + j, columns - j, last + P * kLanes<SumOf<T>>), ...);
  (std::copy_n(c + static_cast<int64_t>(R) * c_row + j, columns - j, sums + R * kLanes<SumOf<T>>), ...);
  add(last, kWidth<T>, sums, kWidth<T>);
  (std::copy_n(sums + R * kLanes<SumOf<T>>, columns - j, c + static_cast<int64_t>(R) * c_row + j), ...);
}

template <class T, std::size_t Rows>
void multiply_rows(const SumOf<T>* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row, int64_t n, int64_t k,
                   SumOf<T>* c, int64_t c_row) {
  const std::make_index_sequence<Rows> rows;
  constexpr auto kStep = static_cast<int64_t>(kTerms);
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t columns = std::min(kColumns, n - j);
    for (int64_t i = 0; i < static_cast<int64_t>(Rows); ++i) std::fill_n(c + i * c_row + j, columns, SumOf<T>{0});
    int64_t p = 0;
    for (; p + kStep <= k; p += kStep)
      add_terms(a + p * a_column, a_row, a_column, b + p * b_row + j, b_row, columns, c + j, c_row, rows,
                std::make_index_sequence<kTerms>());
    for (; p < k; ++p)
      add_terms(a + p * a_column, a_row, a_column, b + p * b_row + j, b_row, columns, c + j, c_row, rows,
                std::make_index_sequence<1>());
  }
}

template <class T>
void multiply(const SumOf<T>* a, int64_t a_row, int64_t a_column, int64_t m, const T* b, int64_t b_row, int64_t n,
              int64_t k, SumOf<T>* c, int64_t c_row) {
  static constexpr auto kOfRows = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{&multiply_rows<T, I + 1>...};
  }(std::make_index_sequence<kMostFewRows<T>>());
  kOfRows[static_cast<std::size_t>(m - 1)](a, a_row, a_column, b, b_row, n, k, c, c_row);
}

}  // namespace

FewRows<float> few_rows_float() { return multiply<float>; }
FewRows<double> few_rows_double() { return multiply<double>; }
FewRows<BF16> few_rows_bf16() { return multiply<BF16>; }
FewRows<F16> few_rows_f16() { return Halves<DType::F16>::kConverts ? multiply<F16> : nullptr; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(few_rows_float);
HWY_EXPORT(few_rows_double);
HWY_EXPORT(few_rows_bf16);
HWY_EXPORT(few_rows_f16);
template <> FewRows<float> few_rows() { return HWY_DYNAMIC_DISPATCH(few_rows_float)(); }
template <> FewRows<double> few_rows() { return HWY_DYNAMIC_DISPATCH(few_rows_double)(); }
template <> FewRows<BF16> few_rows() { return HWY_DYNAMIC_DISPATCH(few_rows_bf16)(); }
template <> FewRows<F16> few_rows() { return HWY_DYNAMIC_DISPATCH(few_rows_f16)(); }

}  // namespace kiln::cpu::simd
#endif
