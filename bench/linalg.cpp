// What factorisations of matrices cost on the CPU: one of 512 x 512, and a batch of 1000 of 16 x 16, in float32.
// KILN_THREADS=1 ./dev bench linalg --benchmark_filter=svd
#include <benchmark/benchmark.h>

#include "kiln/ops/linalg/linalg.hpp"

namespace {

using namespace kiln;

/// [count, size, size], positive definite.
Value matrices(benchmark::State& state) {
  const Value x = uniform({state.range(0), state.range(1), state.range(1)}, -1, 1, Device::cpu(), DType::F32, Key{1});
  return matmul(x, transpose(x)) + 10.0 * matrix_power(x, 0);
}

template <class F>
void measure(benchmark::State& state, F&& f) {
  const Value a = matrices(state);
  Device::cpu().sync();
  for (auto _ : state) {
    const Value held = f(a);  // what nobody holds would not be computed
    Device::cpu().sync();
  }
}

void one_cholesky(benchmark::State& state) {
  measure(state, [](const Value& a) { return cholesky(a); });
}
void one_solve(benchmark::State& state) {
  const Value b = ones({state.range(1), 1}, Device::cpu());
  measure(state, [&](const Value& a) { return solve(a, b); });
}
void one_inverse(benchmark::State& state) {
  measure(state, [](const Value& a) { return inverse(a); });
}
void one_qr(benchmark::State& state) {
  measure(state, [](const Value& a) { return qr(a).q; });
}
void one_eigh(benchmark::State& state) {
  measure(state, [](const Value& a) { return eigh(a).v; });
}
void one_svd(benchmark::State& state) {
  measure(state, [](const Value& a) { return svd(a).u; });
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Args({1, 512})->Args({1000, 16})->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(one_cholesky)->Name("cholesky")->Apply(sizes);
BENCHMARK(one_solve)->Name("solve")->Apply(sizes);
BENCHMARK(one_inverse)->Name("inverse")->Apply(sizes);
BENCHMARK(one_qr)->Name("qr")->Apply(sizes);
BENCHMARK(one_eigh)->Name("eigh")->Apply(sizes);
BENCHMARK(one_svd)->Name("svd")->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
