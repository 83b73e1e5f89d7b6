#include "kiln/backend/inspect/ceiling.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>

#include <hwy/cache_control.h>

#include "kiln/core/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/inspect/ceiling.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::inspect::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains: two operations per cycle with a latency of four cycles keep eight busy.
std::int64_t multiply_add(std::int64_t rounds, float* result) {
  const hn::ScalableTag<float> d;
  const auto x = hn::Set(d, 0.999f), y = hn::Set(d, 0.001f);
  // Each chain has its own start value: a compiler would merge equal chains.
  const auto from = [&](float first) HWY_ATTR { return hn::Iota(d, first); };
  auto a = from(1), b = from(2), c = from(3), e = from(4), f = from(5), g = from(6);
  auto h = from(7), i = from(8), j = from(9), k = from(10), l = from(11), m = from(12);
  for (std::int64_t round = 0; round < rounds; ++round) {
    a = hn::MulAdd(a, x, y);
    b = hn::MulAdd(b, x, y);
    c = hn::MulAdd(c, x, y);
    e = hn::MulAdd(e, x, y);
    f = hn::MulAdd(f, x, y);
    g = hn::MulAdd(g, x, y);
    h = hn::MulAdd(h, x, y);
    i = hn::MulAdd(i, x, y);
    j = hn::MulAdd(j, x, y);
    k = hn::MulAdd(k, x, y);
    l = hn::MulAdd(l, x, y);
    m = hn::MulAdd(m, x, y);
  }
  // The result depends on all twelve, so that the compiler removes none.
  const auto sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  *result = hn::GetLane(hn::Add(sum, hn::Add(hn::Add(j, k), hn::Add(l, m))));
  return rounds * 12 * 2 * static_cast<std::int64_t>(hn::Lanes(d));
}

/// Writes past the caches, which otherwise read every line before writing it.
void copy_streamed(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes) hn::Stream(hn::Load(d, from + i), d, to + i);
  hwy::FlushStream();
}

}  // namespace kiln::inspect::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln {
namespace inspect {
namespace {

HWY_EXPORT(copy_streamed);
HWY_EXPORT(multiply_add);

/// The shortest time that `work` took.
template <class F>
double best_seconds(int times, F&& work) {
  double best = 1e30;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

constexpr std::align_val_t kVector{64};  // the longest vectors' bytes

struct Freed {
  void operator()(float* memory) const { ::operator delete[](memory, kVector); }
};
/// Highway's own allocator is no header: WebAssembly's builds lack it.
std::unique_ptr<float[], Freed> aligned_floats(std::size_t count) {
  return std::unique_ptr<float[], Freed>(static_cast<float*>(::operator new[](count * sizeof(float), kVector)));
}

double copy_rate() {
  constexpr std::int64_t kCount = std::int64_t{16} << 20, kPiece = std::int64_t{1} << 17;
  const auto from = aligned_floats(kCount), to = aligned_floats(kCount);
  std::fill_n(from.get(), kCount, 1.0f);
  const auto measure = [&](auto&& copy) {
    return best_seconds(5, [&] {
      parallel_for(kCount, kPiece, [&](std::int64_t begin, std::int64_t end) {
        copy(from.get() + begin, to.get() + begin, end - begin);
      });
    });
  };
  const double seconds =
      std::min(measure([](const float* a, float* b, std::int64_t n) {
                 std::memcpy(b, a, static_cast<std::size_t>(n) * sizeof(float));
               }),
               measure([](const float* a, float* b, std::int64_t n) { HWY_DYNAMIC_DISPATCH(copy_streamed)(a, b, n); }));
  return 2.0 * kCount * sizeof(float) / seconds;
}

double multiply_add_rate() {
  constexpr std::int64_t kRounds = 10'000, kPieces = 8;
  const std::int64_t pieces = kPieces * num_threads();
  std::atomic<std::int64_t> flops = 0;
  const double seconds = best_seconds(10, [&] {
    flops = 0;
    parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      volatile float kept = 0;
      for (std::int64_t piece = begin; piece < end; ++piece) {
        float result = 0;
        flops += HWY_DYNAMIC_DISPATCH(multiply_add)(kRounds, &result);
        kept = result;
      }
      (void)kept;
    });
  });
  return static_cast<double>(flops) / seconds;
}

}  // namespace
}  // namespace inspect

const Ceiling& machine_ceiling() {
  static const Ceiling ceiling{.bytes_per_second = inspect::copy_rate(),
                               .flops_per_second = inspect::multiply_add_rate()};
  return ceiling;
}

}  // namespace kiln
#endif
