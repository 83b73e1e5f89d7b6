// Kiln's side of `./dev bench wasm`: bench_wasm SECONDS [SIZE | FILE.onnx]... measures float32 products of SIZE x SIZE and the
// networks of ONNX files on random inputs, and prints a line of JSON for each: the least and the median time of a run. It runs on
// the device that KILN_DEVICE names, or the processor; in a page, where tests/backend/webgpu links it, on "webgpu" as well.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "bench/wasm/vectors.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/ops/functions.hpp"

namespace {

using namespace kiln;

Device device() {
  const char* const name = setting("KILN_DEVICE");
  return Device::parse(name ? name : "cpu");
}
Value numbers(const Shape& shape) { return normal(shape, 0, 1, device()); }

struct Times {
  double least_ms, median_ms;
  std::size_t runs;
};

template <class F>
Times measured(double seconds, F&& run) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWarm = 5;  // V8 compiles what has run for a while once more
  constexpr std::size_t kFewest = 5;
  for (int i = 0; i < kWarm; ++i) run();
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (times.size() < kFewest || Clock::now() < end) {
    const auto begin = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], times.size()};
}

void print(const std::string& what, const Times& times, double flops) {
  std::printf("{\"what\": \"%s\", \"threads\": %d, \"least_ms\": %.4f, \"median_ms\": %.4f, \"runs\": %zu",
              what.c_str(), num_threads(), times.least_ms, times.median_ms, times.runs);
  if (flops > 0) std::printf(", \"gflops\": %.1f", flops / times.least_ms / 1e6);
  std::printf("}\n");
}

void product(std::int64_t size, double seconds) {
  const Value a = numbers({size, size}), b = numbers({size, size});
  const auto run = [&] {
    const Value c = matmul(a, b);
    device().sync();
  };
  print("product " + std::to_string(size), measured(seconds, run), 2.0 * static_cast<double>(size * size * size));
}

void network(const std::string& file, double seconds) {
  const onnx::Model model = onnx::load(file, device());
  std::vector<onnx::Datum> inputs;
  for (const onnx::ValueInfo& input : model.inputs()) {
    Shape sizes;
    for (const onnx::DimProto& size : input.type.shape.value()) sizes.push_back(size.value.value());
    inputs.emplace_back(numbers(sizes));
  }
  const auto run = [&] {
    const onnx::Outputs outputs = model.run(inputs);
    device().sync();
  };
  print(file.substr(file.rfind('/') + 1), measured(seconds, run), 0);
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 3) {
      std::fprintf(stderr, "bench_wasm SECONDS [SIZE | FILE.onnx]...\n");
      return 2;
    }
    bench::use_vectors_of_256_bits();
    const double seconds = std::atof(words[1]);
    for (int i = 2; i < count; ++i) {
      const std::string what = words[i];
      if (what.ends_with(".onnx")) network(what, seconds);
      else product(std::atoll(words[i]), seconds);
      std::fflush(stdout);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
