#include "kiln/backend/cpu/simd/product/half_dots.hpp"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/product/half_dots.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

using std::int64_t;

constexpr auto kWidth = static_cast<int64_t>(kLanes<float>);

/// Returns the first `count` numbers of a vector, with zeros instead of the others.
template <class H>
HWY_INLINE Lanes load_some(const H* from, int64_t count) {
  if (count == kWidth) return load_half(from);
  H lanes[kWidth] = {};
  std::copy_n(from, count, lanes);
  return load_half(lanes);
}
HWY_INLINE Lanes load_some(const float* from, int64_t count) {
  if (count == kWidth) return Lanes::load(from);
  float lanes[kWidth] = {};
  std::copy_n(from, count, lanes);
  return Lanes::load(lanes);
}

/// The distance of prefetches, in numbers: some processors read three times as fast with them, and others as fast as
/// without. bench: suite gpt2_124M_decode_bf16
constexpr int64_t kAhead = 512;

/// Adds the products of `count` numbers of a line with those of each vector; V counts the vectors. gcc keeps the sums
/// in registers only if no loop or lambda names them.
template <class H, std::size_t... V>
HWY_INLINE void add_products(const H* line, const float* vectors, int64_t k, int64_t count, Lanes* sums,
                             std::index_sequence<V...>) {
  const Lanes numbers = load_some(line, count);
  ((sums[V] = fma(numbers, load_some(vectors + static_cast<int64_t>(V) * k, count), sums[V])), ...);
}

/// Sums alternate between two vectors, so that additions do not wait for each other.
template <class H, std::size_t... V>
void dot_of(const H* matrix, int64_t step, int64_t lines, int64_t k, const float* vectors, float* results,
            std::index_sequence<V...> each) {
  for (int64_t i = 0; i < lines; ++i) {
    const H* const line = matrix + i * step;
    Lanes sums[sizeof...(V)] = {(void(V), Lanes(0))...}, others[sizeof...(V)] = {(void(V), Lanes(0))...};
    int64_t at = 0;
    for (; at + 2 * kWidth <= k; at += 2 * kWidth) {
      hwy::Prefetch(line + at + kAhead);
      add_products(line + at, vectors + at, k, kWidth, sums, each);
      add_products(line + at + kWidth, vectors + at + kWidth, k, kWidth, others, each);
    }
    for (; at < k; at += kWidth) add_products(line + at, vectors + at, k, std::min(kWidth, k - at), sums, each);
    ((results[static_cast<int64_t>(V) * lines + i] =
          hn::GetLane(hn::SumOfLanes(Lanes::Tag(), (sums[V] + others[V]).lanes))),
     ...);
  }
}

template <class H>
void dot(const H* matrix, int64_t step, int64_t lines, int64_t k, const float* vectors, int64_t count, float* results) {
  const auto dot_with = [&]<std::size_t... V>(std::index_sequence<V...> each) {
    dot_of(matrix, step, lines, k, vectors, results, each);
  };
  if (count == 1) dot_with(std::make_index_sequence<1>());
  else if (count == 2) dot_with(std::make_index_sequence<2>());
  else if (count == 3) dot_with(std::make_index_sequence<3>());
  else dot_with(std::make_index_sequence<4>());
}
}  // namespace

HalfDots<BF16> dots_bf16() { return dot<BF16>; }
HalfDots<F16> dots_f16() { return Halves<DType::F16>::kConverts ? dot<F16> : nullptr; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(dots_bf16);
HWY_EXPORT(dots_f16);
template <> HalfDots<BF16> half_dots() { return HWY_DYNAMIC_DISPATCH(dots_bf16)(); }
template <> HalfDots<F16> half_dots() { return HWY_DYNAMIC_DISPATCH(dots_f16)(); }

}  // namespace kiln::cpu::simd
#endif
