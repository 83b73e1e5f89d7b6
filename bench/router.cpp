// What a small operation costs on a router of one part and of two, beside the part itself.
#include <benchmark/benchmark.h>

#include "kiln/backend/router/router.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {
namespace {

/// A chain of additions of 16 elements, read at its end.
void add(benchmark::State& state, const Device& device) {
  const Value one = full({16}, 1, device, DType::F32);
  constexpr int kLength = 1000;
  for (auto _ : state) {
    Value x = one;
    for (int i = 0; i < kLength; ++i) x = x + one;
    benchmark::DoNotOptimize(x.data());
  }
  state.SetItemsProcessed(state.iterations() * kLength);
}

void on_cpu(benchmark::State& state) { add(state, Device::cpu()); }
void on_router_of_one(benchmark::State& state) { add(state, Device::parse("router:cpu")); }
void on_router_of_two(benchmark::State& state) { add(state, Device::parse("router:cpu,reference")); }
void on_reference(benchmark::State& state) { add(state, Device::parse("reference")); }
void on_router_of_reference(benchmark::State& state) { add(state, Device::parse("router:reference")); }
BENCHMARK(on_cpu);
BENCHMARK(on_router_of_one);
BENCHMARK(on_router_of_two);
BENCHMARK(on_reference);
BENCHMARK(on_router_of_reference);

/// A value of that many floats from one part to the other.
void move(benchmark::State& state) {
  const Device device = Device::parse("router:cpu,reference");
  const Value x = full({state.range(0)}, 1, router_part(device, 0), DType::F32);
  for (auto _ : state) benchmark::DoNotOptimize(to_device(x + 0, router_part(device, 1)).node());
  state.SetBytesProcessed(state.iterations() * state.range(0) * 4);
}
BENCHMARK(move)->Arg(16)->Arg(1 << 20);

}  // namespace
}  // namespace kiln

BENCHMARK_MAIN();
