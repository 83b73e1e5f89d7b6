// Threads that run inference in small batches on one GPU: in its one stream, and each in a stream of its own.
#include <benchmark/benchmark.h>

#include <optional>

#include "kiln/ops/devices.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/device_stream.hpp"

namespace kiln {
namespace {

constexpr std::int64_t kBatch = 8;
constexpr int kLayers = 16;

/// Layers of one width, which all threads share.
struct Network {
  explicit Network(std::int64_t width) {
    const Device device = Device::best();
    for (int i = 0; i < kLayers; ++i) {
      weights.push_back(full({width, width}, 0.01, device));
      biases.push_back(full({width}, 0.5, device));
    }
    device.sync();
  }
  Value operator()(Value x) const {
    for (std::size_t i = 0; i < weights.size(); ++i) x = relu(matmul(x, weights[i]) + biases[i]);
    return x;
  }
  static const Network& of(std::int64_t width) {
    static const Network narrow(512), wide(2048);
    return width == 512 ? narrow : wide;
  }
  std::vector<Value> weights, biases;
};

/// One batch after the other: from the host, through the network, and back.
void infer(benchmark::State& state, bool wants_own) {
  const Device device = Device::best();
  const std::int64_t width = state.range(0);
  const Network& network = Network::of(width);
  std::optional<DeviceStream> own;
  if (wants_own) own.emplace(device);
  if (wants_own && !own->is_own()) return state.SkipWithError("the device has one stream");
  const TensorData batch = full({kBatch, width}, 0.5, Device::cpu()).data();
  for (int i = 0; i < 5; ++i) (void)network(from_data(batch, device)).data();
  for (auto _ : state) {
    const TensorData result = network(from_data(batch, device)).data();
    benchmark::DoNotOptimize(result.bytes().data());
  }
  state.SetItemsProcessed(state.iterations());  // batches of all threads
}
void one_stream(benchmark::State& state) { infer(state, false); }
void own_streams(benchmark::State& state) { infer(state, true); }
BENCHMARK(one_stream)->Arg(512)->Arg(2048)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK(own_streams)->Arg(512)->Arg(2048)->ThreadRange(1, 4)->UseRealTime();

}  // namespace
}  // namespace kiln

BENCHMARK_MAIN();
