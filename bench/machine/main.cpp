// What this machine can do at best, as a line of JSON: rates that bench/suite.py holds the workloads against. Those of
// copies and of multiplications and additions are what KILN_PROFILE measures too; the others are medians of several
// repeats, on as many threads as Kiln uses.
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "bench/machine/tiles.hpp"
#include "kiln/backend/inspect/ceiling.hpp"
#include "kiln/core/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine/main.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Lanes = hn::Vec<Tag>;

float read(const float* from, std::int64_t count) {
  const Tag tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  Lanes a = hn::Zero(tag), b = a, c = a, d = a;
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    a = hn::Add(a, hn::Load(tag, from + i));
    b = hn::Add(b, hn::Load(tag, from + i + lanes));
    c = hn::Add(c, hn::Load(tag, from + i + 2 * lanes));
    d = hn::Add(d, hn::Load(tag, from + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(tag, hn::Add(hn::Add(a, b), hn::Add(c, d))));
}

}  // namespace bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench {
HWY_EXPORT(read);

namespace {

using kiln::num_threads, kiln::parallel_for;

constexpr std::int64_t kCount = 1 << 24, kGrain = 1 << 16;  // as many numbers as the suite's largest workloads touch
std::atomic<float> result_sink;                             // what is computed must be of use to somebody

double median_seconds(const std::function<void()>& f) {
  std::vector<double> times;
  for (int repeat = 0; repeat < 9; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    f();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

/// The rate at which all threads together do what `work` does on one; it gives the number of operations.
double gflop_s_of(const std::function<double()>& work) {
  std::atomic<double> flops = 0;
  const double seconds =
      median_seconds([&] { parallel_for(num_threads(), 1, [&](std::int64_t, std::int64_t) { flops = work(); }); });
  return 1e-9 * flops * num_threads() / seconds;
}

/// Nanoseconds until a write of one core is seen by another. It tells how close two cores of a virtual machine are,
/// which may change from minute to minute.
double handoff_ns() {
  using Clock = std::chrono::steady_clock;
  alignas(64) std::atomic<int> turn{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over.load(std::memory_order_relaxed))
      if (turn.load(std::memory_order_acquire) == 1) turn.store(0, std::memory_order_release);
  });
  const auto start = Clock::now();
  std::chrono::duration<double, std::nano> elapsed{};
  std::int64_t times = 0;
  for (; elapsed.count() < 5e7; elapsed = Clock::now() - start)
    for (int i = 0; i < 100; ++i, ++times) {
      turn.store(1, std::memory_order_release);
      while (turn.load(std::memory_order_acquire) != 0) {}
    }
  over = true;
  other.join();
  return elapsed.count() / static_cast<double>(times) / 2;
}

/// Some virtual machines advertise AMX and hide its tiles; a library that trusts them dies.
bool amx_traps() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & (1u << 24))) return false;
  return !__get_cpuid_count(0x1d, 1, &a, &b, &c, &d) || (a | b | c | d) == 0;
#else
  return false;
#endif
}

void print() {
  const auto from = hwy::MakeUniqueAlignedArray<float>(kCount);
  std::fill_n(from.get(), kCount, 1.0f);
  const double reading = median_seconds([&] {
    parallel_for(kCount, kGrain, [&](std::int64_t begin, std::int64_t end) {
      result_sink = HWY_DYNAMIC_DISPATCH(read)(from.get() + begin, end - begin);
    });
  });
  const kiln::Ceiling& ceiling = kiln::machine_ceiling();
  std::printf("{\"threads\": %d, \"handoff_ns\": %.0f, \"copy_gb_s\": %.1f, \"read_gb_s\": %.1f, ", num_threads(),
              num_threads() > 1 ? handoff_ns() : 0.0, 1e-9 * ceiling.bytes_per_second, 4e-9 * kCount / reading);
  std::printf("\"fma_gflop_s\": %.0f, \"bf16_gflop_s\": %.0f, \"amx_traps\": %s}\n", 1e-9 * ceiling.flops_per_second,
              gflop_s_of(multiply_tiles), amx_traps() ? "true" : "false");
}

}  // namespace
}  // namespace bench

int main() { bench::print(); }
#endif
