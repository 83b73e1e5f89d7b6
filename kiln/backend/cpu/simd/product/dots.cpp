#include "kiln/backend/cpu/simd/product/dots.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/product/dots.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"
#include "kiln/backend/cpu/simd/product/tile_parts.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

/// Halves become floats in registers.
template <class T>
constexpr bool kIsHalf = !std::is_same_v<T, SumOf<T>>;
template <class T>
using Sum = Vector<SumOf<T>>;
template <class T>
constexpr int64_t kStep = kWidth<SumOf<T>>;

template <class T>
HWY_INLINE Sum<T> load(const T* from) {
  if constexpr (kIsHalf<T>) return load_half(from);
  else return Sum<T>::load(from);
}
/// Loads the first `count` numbers of a vector, with zeros instead of the others.
template <class T>
HWY_INLINE Sum<T> load_part(const T* from, int64_t count) {
  if constexpr (kIsHalf<T>) {
    T lanes[kStep<T>] = {};
    std::copy_n(from, count, lanes);
    return load_half(lanes);
  } else {
    return load_first(from, count);
  }
}

/// The distance of prefetches, in numbers: this doubles the bandwidth of some processors, when they read several lines
/// as well as one long line. bench: suite gpt2_124M_decode, gpt2_124M_decode_bf16, sweep matmul
template <class T>
constexpr int64_t kAhead = 1024 / static_cast<int64_t>(sizeof(T));

/// Computes Rows x Lines sums, each in the lanes of a vector.
template <class T, std::size_t Lines, std::size_t... I>
HWY_INLINE void dots(const SumOf<T>* a, int64_t a_row, const T* b, int64_t b_row, SumOf<T>* c, int64_t c_row,
                     int64_t c_column, int64_t k, Indices<I...>) {
  const typename Sum<T>::Tag tag;
  Sum<T> sums[] = {((void)I, Sum<T>(0))...};
  const auto add = [&](auto get) HWY_ATTR {
    ((sums[I] = fma(get(a + static_cast<int64_t>(I / Lines) * a_row), get(b + static_cast<int64_t>(I % Lines) * b_row),
                    sums[I])),
     ...);
  };
  int64_t p = 0;
  for (; p + kStep<T> <= k; p += kStep<T>) {
    if constexpr (kIsHalf<T>)
      for (int64_t line = 0; line < static_cast<int64_t>(Lines); ++line)
        hwy::Prefetch(b + line * b_row + p + kAhead<T>);
    add([p](const auto* x) HWY_ATTR { return load(x + p); });
  }
  if (p < k) add([p, k](const auto* x) HWY_ATTR { return load_part(x + p, k - p); });
  ((c[static_cast<int64_t>(I / Lines) * c_row + static_cast<int64_t>(I % Lines) * c_column] =
        hn::GetLane(hn::SumOfLanes(tag, sums[I].lanes))),
   ...);
}

/// Computes a sum for each line of b in the lanes of four vectors. Its order does not depend on the number of lines.
template <class T, std::size_t... L>
HWY_INLINE void dot_lines(const SumOf<T>* a, const T* b, int64_t b_row, SumOf<T>* c, int64_t c_column, int64_t k,
                          Indices<L...>) {
  using Sums = Sum<T>[sizeof...(L)];
  Sums sum0{((void)L, Sum<T>(0))...}, sum1{((void)L, Sum<T>(0))...}, sum2{((void)L, Sum<T>(0))...},
      sum3{((void)L, Sum<T>(0))...};
  const auto add = [b_row](Sum<T>(&sums)[sizeof...(L)], Sum<T> x, const T* y)
                       HWY_ATTR { ((sums[L] = fma(x, load(y + static_cast<int64_t>(L) * b_row), sums[L])), ...); };
  int64_t p = 0;
  for (; p + 4 * kStep<T> <= k; p += 4 * kStep<T>) {
    const SumOf<T>* const x = a + p;
    const T* const y = b + p;
    for (int64_t i = 0; i < 4 * kStep<T>; i += 64 / static_cast<int64_t>(sizeof(T)))
      (hwy::Prefetch(y + static_cast<int64_t>(L) * b_row + kAhead<T> + i), ...);
    add(sum0, load(x), y);
    add(sum1, load(x + kStep<T>), y + kStep<T>);
    add(sum2, load(x + 2 * kStep<T>), y + 2 * kStep<T>);
    add(sum3, load(x + 3 * kStep<T>), y + 3 * kStep<T>);
  }
  for (; p + kStep<T> <= k; p += kStep<T>) add(sum0, load(a + p), b + p);
  if (p < k)
    ((sum1[L] = fma(load_part(a + p, k - p), load_part(b + static_cast<int64_t>(L) * b_row + p, k - p), sum1[L])), ...);
  const typename Sum<T>::Tag tag;
  ((c[static_cast<int64_t>(L) * c_column] =
        hn::GetLane(hn::SumOfLanes(tag, ((sum0[L] + sum1[L]) + (sum2[L] + sum3[L])).lanes))),
   ...);
}

template <class T, std::size_t Rows>
void dot_rows(const SumOf<T>* a, int64_t a_row, const T* b, int64_t b_row, SumOf<T>* c, int64_t c_row, int64_t c_column,
              int64_t n, int64_t k, bool near) {
  int64_t j = 0;
  if constexpr (Rows == 1) {
    // Data in the caches is read twice as fast from several lines, and other data from one line. bench: sweep matmul
    constexpr int64_t kTogether = HWY_MAX_BYTES >= 64 ? 4 : 2;
    for (; near && j + kTogether <= n; j += kTogether)
      dot_lines(a, b + j * b_row, b_row, c + j * c_column, c_column, k, UpTo<static_cast<std::size_t>(kTogether)>());
    // WebAssembly has no prefetches: there several lines keep more reads of memory under way. bench: wasm guide_1
    constexpr int64_t kFar = HWY_ARCH_WASM ? 4 : 1;
    for (; j + kFar <= n; j += kFar)
      dot_lines(a, b + j * b_row, b_row, c + j * c_column, c_column, k, UpTo<static_cast<std::size_t>(kFar)>());
    for (; j < n; ++j) dot_lines(a, b + j * b_row, b_row, c + j * c_column, c_column, k, UpTo<1>());
  } else {
    // Halves are few vectors times lines that come from memory.
    constexpr std::size_t kLines = kIsHalf<T> ? 2 : std::min<std::size_t>(kMostSums / Rows, 8);
    constexpr auto kTogether = static_cast<int64_t>(kLines);
    for (; j + kTogether <= n; j += kTogether)
      dots<T, kLines>(a, a_row, b + j * b_row, b_row, c + j * c_column, c_row, c_column, k, UpTo<Rows * kLines>());
    for (; j + 2 <= n; j += 2)
      dots<T, 2>(a, a_row, b + j * b_row, b_row, c + j * c_column, c_row, c_column, k, UpTo<Rows * 2>());
    if (j < n) dots<T, 1>(a, a_row, b + j * b_row, b_row, c + j * c_column, c_row, c_column, k, UpTo<Rows>());
  }
}

template <class T>
void dot(const SumOf<T>* a, int64_t a_row, const T* b, int64_t b_row, SumOf<T>* c, int64_t c_row, int64_t c_column,
         int64_t m, int64_t n, int64_t k, bool near) {
  static constexpr auto kDots = []<std::size_t... I>(Indices<I...>) {
    return std::array{&dot_rows<T, I + 1>...};
  }(UpTo<std::is_integral_v<T> ? 1 : 4>());
  constexpr auto kMost = static_cast<int64_t>(kDots.size());
  for (int64_t i = 0; i < m; i += kMost)
    kDots[static_cast<std::size_t>(std::min(kMost, m - i) - 1)](a + i * a_row, a_row, b, b_row, c + i * c_row, c_row,
                                                                c_column, n, k, near);
}

}  // namespace

Dots<float> dots_float() { return dot<float>; }
Dots<double> dots_double() { return dot<double>; }
Dots<std::int16_t> dots_int16() { return dot<std::int16_t>; }
Dots<std::int32_t> dots_int32() { return dot<std::int32_t>; }
Dots<std::int64_t> dots_int64() { return dot<std::int64_t>; }
Dots<BF16> dots_bf16() { return dot<BF16>; }
Dots<F16> dots_f16() { return Halves<DType::F16>::kConverts ? dot<F16> : nullptr; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(dots_float);
HWY_EXPORT(dots_double);
HWY_EXPORT(dots_int16);
HWY_EXPORT(dots_int32);
HWY_EXPORT(dots_int64);
HWY_EXPORT(dots_bf16);
HWY_EXPORT(dots_f16);
template <> Dots<float> dots() { return HWY_DYNAMIC_DISPATCH(dots_float)(); }
template <> Dots<double> dots() { return HWY_DYNAMIC_DISPATCH(dots_double)(); }
template <> Dots<std::int16_t> dots() { return HWY_DYNAMIC_DISPATCH(dots_int16)(); }
template <> Dots<std::int32_t> dots() { return HWY_DYNAMIC_DISPATCH(dots_int32)(); }
template <> Dots<std::int64_t> dots() { return HWY_DYNAMIC_DISPATCH(dots_int64)(); }
template <> Dots<BF16> dots() { return HWY_DYNAMIC_DISPATCH(dots_bf16)(); }
template <> Dots<F16> dots() { return HWY_DYNAMIC_DISPATCH(dots_f16)(); }

}  // namespace kiln::cpu::simd
#endif
