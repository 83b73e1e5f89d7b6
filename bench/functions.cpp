// The functions that users wait for beside contractions: ordering, indexing, scans, pools, resampling, attention, with
// their gradients. `KILN_THREADS=1 ./dev bench functions --benchmark_filter=sort` shows what a second core buys.
#include <benchmark/benchmark.h>

#include <functional>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/resample.hpp"

namespace {

using namespace kiln;

const Device kCpu = Device::cpu().autodiff();

Value normals(const Shape& shape) { return normal(shape, 0, 1, kCpu, DType::F32, Key{1}); }
Value indices(const Shape& shape, double end) {
  return cast(uniform(shape, 0, end, kCpu, DType::F32, Key{2}), DType::I64);
}

void forward(benchmark::State& state, const std::function<Value()>& f) {
  for (auto _ : state) {
    const Value held = f();  // what nobody holds would not be computed
    kCpu.sync();
  }
}
/// The function and the gradients of all of `in`.
void both_ways(benchmark::State& state, Values in, const std::function<Value(const Values&)>& f) {
  for (Value& x : in) x = x.detach().require_grad();
  for (auto _ : state) {
    const Value y = f(in);
    const Values held = grad(Values{y}, Values{ones_like(y)}, in);
    kCpu.sync();
  }
}

void add(const char* name, std::function<void(benchmark::State&)> run) {
  benchmark::RegisterBenchmark(name, std::move(run))->UseRealTime()->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  const Value line = normals({1'000'000}), square = normals({4096, 4096}), thousand = normals({1000, 1000});
  const Value table = normals({50'000, 512}), tokens = indices({8192}, 50'000);
  const Value places = indices({4096, 4096}, 4096), spots = indices({1'000'000}, 100'000);
  const Value images = normals({64, 64, 56, 56}), few = normals({16, 64, 56, 56});
  const Value small = normals({16, 64, 28, 28}), kernel = normals({64, 64, 4, 4});
  const Value q = normals({4, 6, 256, 64}), k = normals({4, 6, 256, 64}), v = normals({4, 6, 256, 64});
  const PoolOptions halved{.kernel = {2, 2}};

  add("sort_1M", [&](auto& s) { forward(s, [&] { return sort(line, 0).values; }); });
  add("sort_1000x1000", [&](auto& s) { forward(s, [&] { return sort(thousand, 1).values; }); });
  add("topk_10_of_1M", [&](auto& s) { forward(s, [&] { return topk(line, 10, 0).values; }); });
  add("cumsum_rows_4096", [&](auto& s) { forward(s, [&] { return cumsum(square, 1); }); });
  add("cumsum_columns_4096", [&](auto& s) { forward(s, [&] { return cumsum(square, 0); }); });
  add("argmax_columns_4096", [&](auto& s) { forward(s, [&] { return argmax(square, 0); }); });
  add("gather_4096", [&](auto& s) { forward(s, [&] { return gather(square, 1, places); }); });
  add("scatter_add_1M_into_100k",
      [&](auto& s) { forward(s, [&] { return scatter_add(zeros({100'000}, kCpu), 0, spots, line); }); });
  add("embedding_8192_of_50kx512", [&](auto& s) { forward(s, [&] { return select(table, 0, tokens); }); });
  add("embedding_both_ways",
      [&](auto& s) { both_ways(s, {table}, [&](const Values& in) { return select(in[0], 0, tokens); }); });
  add("max_pool", [&](auto& s) { forward(s, [&] { return max_pool(images, halved); }); });
  add("max_pool_both_ways",
      [&](auto& s) { both_ways(s, {images}, [&](const Values& in) { return max_pool(in[0], halved); }); });
  add("conv_transpose", [&](auto& s) {
    forward(s, [&] { return conv_transpose(small, kernel, {}, {.stride = {2, 2}, .padding = {1, 1}}); });
  });
  add("bilinear_x2",
      [&](auto& s) { forward(s, [&] { return interpolate(few, {.scale = {2, 2}, .mode = Interpolation::Linear}); }); });
  add("attention_causal", [&](auto& s) { forward(s, [&] { return attention(q, k, v, {.causal = true}); }); });
  add("attention_causal_both_ways", [&](auto& s) {
    both_ways(s, {q, k, v}, [&](const Values& in) { return attention(in[0], in[1], in[2], {.causal = true}); });
  });
  // Convolutions of bytes with a kernel for each channel, as quantised networks for phones have them.
  const auto bytes = [](const Shape& shape, DType dtype) {
    return cast(uniform(shape, 0, 100, kCpu, DType::F32), dtype);
  };
  const Value pixels = bytes({1, 96, 56, 56}, DType::U8), deep = bytes({1, 576, 14, 14}, DType::U8);
  const Value of_pixels = bytes({96, 1, 3, 3}, DType::I8), of_deep = bytes({576, 1, 3, 3}, DType::I8);
  const ConvOptions around{.padding = {1, 1}, .groups = 96}, apart{.stride = {2, 2}, .padding = {1, 1}, .groups = 576};
  add("conv_integer_depthwise",
      [&](auto& s) { forward(s, [&] { return conv_integer(pixels, of_pixels, {}, {}, around); }); });
  add("conv_integer_depthwise_stride_2",
      [&](auto& s) { forward(s, [&] { return conv_integer(deep, of_deep, {}, {}, apart); }); });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
