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

// The matrix is processed in blocks of so many columns, whose sums stay in the first-level cache, and some rows at a
// time, while the next rows are prefetched. Consecutive rows use more of the memory bandwidth than columns of tiles,
// whose rows are in different pages: up to 2.5 times as many bytes per second, and with eight rows a third more than
// with four. bench: suite gpt2_124M_decode, sweep linear
constexpr int64_t kColumns = 1024;
constexpr std::size_t kTerms = 8;

template <class T>
using Sums = Vector<SumOf<T>>;
template <class T>
constexpr auto kWidth = static_cast<int64_t>(kLanes<SumOf<T>>);

template <class T>
HWY_INLINE Sums<T> load(const T* from) {
  if constexpr (std::is_same_v<T, SumOf<T>>) return Sums<T>::load(from);
  else return load_half(from);
}

template <std::size_t N>
using UpTo = std::make_index_sequence<N>;

/// Adds one vector of columns in add_terms: I counts the factors, row by row of each term.
template <class T, std::size_t... R, std::size_t... P, std::size_t... I>
HWY_INLINE void add_vector(const Sums<T>* factors, const T* from, int64_t step, SumOf<T>* to, int64_t to_step,
                           std::index_sequence<R...>, std::index_sequence<P...>, std::index_sequence<I...>) {
  constexpr std::size_t kRows = sizeof...(R);
  const Sums<T> numbers[] = {load(from + static_cast<int64_t>(P) * step)...};
  Sums<T> sums[] = {Sums<T>::load(to + static_cast<int64_t>(R) * to_step)...};
  ((sums[I % kRows] = fma(factors[I], numbers[I / kRows], sums[I % kRows])), ...);
  (store(sums[R], to + static_cast<int64_t>(R) * to_step), ...);
}

/// Adds c [Rows, columns] += a [Rows, Terms] b [Terms, columns]; R counts the rows and P the terms.
template <class T, std::size_t... R, std::size_t... P, std::size_t... I>
HWY_INLINE void add_terms(const SumOf<T>* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row, int64_t ahead,
                          int64_t columns, SumOf<T>* c, int64_t c_row, std::index_sequence<R...> rows,
                          std::index_sequence<P...> terms, std::index_sequence<I...> all) {
  constexpr std::size_t kRows = sizeof...(R);
  const Sums<T> factors[] = {
      Sums<T>(a[static_cast<int64_t>(I % kRows) * a_row + static_cast<int64_t>(I / kRows) * a_column])...};
  int64_t j = 0;
  for (; j + kWidth<T> <= columns; j += kWidth<T>) {
    if (ahead > 0) (__builtin_prefetch(b + static_cast<int64_t>(P) * b_row + j + ahead, 0, 2), ...);
    add_vector(factors, b + j, b_row, c + j, c_row, rows, terms, all);
  }
  if (j == columns) return;
  T last[sizeof...(P) * kLanes<SumOf<T>>] = {};
  SumOf<T> sums[kRows * kLanes<SumOf<T>>] = {};
  (std::copy_n(b + static_cast<int64_t>(P) * b_row + j, columns - j, last + P * kLanes<SumOf<T>>), ...);
  (std::copy_n(c + static_cast<int64_t>(R) * c_row + j, columns - j, sums + R * kLanes<SumOf<T>>), ...);
  add_vector(factors, last, kWidth<T>, sums, kWidth<T>, rows, terms, all);
  (std::copy_n(sums + R * kLanes<SumOf<T>>, columns - j, c + static_cast<int64_t>(R) * c_row + j), ...);
}

template <class T, std::size_t Rows>
void multiply_rows(const SumOf<T>* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row, int64_t n, int64_t k,
                   SumOf<T>* c, int64_t c_row) {
  const UpTo<Rows> rows;
  constexpr auto kStep = static_cast<int64_t>(kTerms), kRows = static_cast<int64_t>(Rows);
  // Rows of c may be so far apart that they share one set of the cache.
  constexpr int64_t kApart = kColumns + 64 / static_cast<int64_t>(sizeof(SumOf<T>));
  alignas(64) SumOf<T> sums[Rows * static_cast<std::size_t>(kApart)];
  // Data that no core's own cache holds is prefetched into the second-level cache: rows often share a few sets of the
  // first-level cache. A single row uses them so soon that this pays only at larger sizes.
  constexpr int64_t kFar = Rows == 1 ? 4 << 20 : 2 << 20;  // bench: sweep linear
  const int64_t ahead = k * b_row * static_cast<int64_t>(sizeof(T)) > kFar ? kStep * b_row : 0;
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t columns = std::min(kColumns, n - j);
    for (int64_t i = 0; i < kRows; ++i) std::fill_n(sums + i * kApart, columns, SumOf<T>{0});
    int64_t p = 0;
    for (; p + kStep <= k; p += kStep)
      add_terms(a + p * a_column, a_row, a_column, b + p * b_row + j, b_row, ahead, columns, sums, kApart, rows,
                UpTo<kTerms>(), UpTo<Rows * kTerms>());
    for (; p < k; ++p)
      add_terms(a + p * a_column, a_row, a_column, b + p * b_row + j, b_row, 0, columns, sums, kApart, rows, UpTo<1>(),
                UpTo<Rows>());
    for (int64_t i = 0; i < kRows; ++i) std::copy_n(sums + i * kApart, columns, c + i * c_row + j);
  }
}

template <class T>
void multiply(const SumOf<T>* a, int64_t a_row, int64_t a_column, int64_t m, const T* b, int64_t b_row, int64_t n,
              int64_t k, SumOf<T>* c, int64_t c_row) {
  static constexpr auto kOfRows = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{&multiply_rows<T, I + 1>...};
  }(UpTo<kMostFewRows<T>>());
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
