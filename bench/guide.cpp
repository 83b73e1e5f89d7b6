// The guide's model as PyTorch's peer program measures it: a training step at batch 64 and the inference of one image.
#include <benchmark/benchmark.h>

#include "examples/guide/model.hpp"

namespace {

using namespace kiln;

void mnist_guide_train_b64(benchmark::State& state) {
  const Device device = Device::cpu().autodiff();
  guide::Model model = train(guide::ModelConfig{}.init(device));
  AdamW optimizer = AdamWConfig{}.init(model);
  const Tensor<3> images = randn({64, 28, 28}, device);
  const Tensor<1, Int> targets = (uniform({64}, 0, 10, device)).to_int();
  const auto step = [&] {
    auto [loss, grads] = value_and_grad(
        model, [&](const guide::Model& m) { return nn::CrossEntropyLoss{}.forward(m.forward(images), targets); });
    model = optimizer.step(1e-4, std::move(model), grads);
  };
  for (int i = 0; i < 10; ++i) step();
  const std::int64_t before = device.backend().memory().in_use;
  for (auto _ : state) step();
  // Bytes that a step leaves behind; flat memory shows as 0.
  state.counters["leaked"] = static_cast<double>(device.backend().memory().in_use - before);
  state.counters["peak_MiB"] = static_cast<double>(device.backend().memory().peak) / (1 << 20);
  state.SetItemsProcessed(state.iterations() * 64);
}

void mnist_guide_infer_b1(benchmark::State& state) {
  const Device device = Device::cpu();
  const guide::Model model = valid(guide::ModelConfig{}.init(device));
  const Tensor<3> image = randn({1, 28, 28}, device);
  for (auto _ : state) benchmark::DoNotOptimize(model.forward(image).data().bytes().data());
}

BENCHMARK(mnist_guide_train_b64)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1000);
BENCHMARK(mnist_guide_infer_b1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
