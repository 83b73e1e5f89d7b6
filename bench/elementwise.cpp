// What single operations cost on the CPU, in the shapes of a training step of the guide's model: time per call and bytes
// of operands and result per second. `./dev bench elementwise --benchmark_filter=dropout`. The suite has large ones.
#include <benchmark/benchmark.h>

#include <string>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"

namespace {

using namespace kiln;

Device cpu() {
  static const Device device = Device::cpu();
  return device;
}

Value random_tensor(const Shape& shape) {
  return emit(cpu(), op::Random{op::Distribution::Uniform, shape, DType::F32}, {Value(1), Value(-1.0), Value(1.0)});
}
/// Memory in the order [batch, height, width, channels], as convolutions give it.
Value random_images(const Shape& s) { return permute(random_tensor({s[0], s[2], s[3], s[1]}), {0, 3, 1, 2}); }

template <class F>
void measure(benchmark::State& state, std::int64_t elements_touched, F&& f) {
  for (auto _ : state) {
    const Value held = f();  // what nobody holds would not be computed
    cpu().sync();
  }
  state.SetBytesProcessed(state.iterations() * elements_touched * 4);
}

void add(benchmark::State& state) {
  const Value x = random_tensor({state.range(0)}), y = random_tensor({state.range(0)});
  measure(state, 3 * state.range(0), [&] { return x + y; });
}
void add_channel_bias(benchmark::State& state) {
  const Value x = random_images({64, 16, 24, 24}), y = random_tensor({1, 16, 1, 1});
  measure(state, 2 * x.numel(), [&] { return x + y; });
}
void add_row(benchmark::State& state) {
  const Value x = random_tensor({64, 512}), y = random_tensor({512});
  measure(state, 2 * x.numel(), [&] { return x + y; });
}
void add_slices(benchmark::State& state) {
  const std::int64_t columns = state.range(0), rows = (1 << 16) / columns;
  const Value x = narrow(random_tensor({rows, columns + 5}), 1, 0, columns);
  const Value y = narrow(random_tensor({rows, 2 * columns}), 1, 0, columns);
  measure(state, 3 * x.numel(), [&] { return x + y; });
}
void relu(benchmark::State& state) {
  const Value x = random_images({64, 16, 24, 24});
  measure(state, 2 * x.numel(), [&] { return emit(op::Unary{op::UnaryFn::Relu}, {x}); });
}
void gelu(benchmark::State& state) {
  const Value x = random_tensor({state.range(0)});
  measure(state, 2 * x.numel(), [&] { return emit(op::Unary{op::UnaryFn::Gelu}, {x}); });
}
void dropout(benchmark::State& state) {
  const Value x = random_tensor({64 * 16 * 24 * 24});
  measure(state, 2 * x.numel(), [&] { return emit(op::Dropout{}, {x, Value(7), Value(0.5)}); });
}
void dropout_channels_last(benchmark::State& state) {
  const Value x = random_images({64, 16, 24, 24});
  measure(state, 2 * x.numel(), [&] { return emit(op::Dropout{}, {x, Value(7), Value(0.5)}); });
}
void sum_all(benchmark::State& state) {
  const Value x = random_tensor({state.range(0)});
  measure(state, x.numel(), [&] { return sum(x, {0}, true); });
}
void sum_to_channels(benchmark::State& state) {
  const Value x = random_images({64, 16, 24, 24});
  measure(state, x.numel(), [&] { return sum(x, {0, 2, 3}, true); });
}
void sum_rows(benchmark::State& state) {
  const Value x = random_tensor({64, 512});
  measure(state, x.numel(), [&] { return sum(x, {0}, true); });
}
const op::AvgPool kPool{.window = {}, .count_padding = true, .adaptive = {8, 8}};
void adaptive_pool(benchmark::State& state) {
  const Value x = random_images({64, 16, 24, 24});
  measure(state, x.numel(), [&] { return emit(kPool, {x}); });
}
void adaptive_pool_gradient(benchmark::State& state) {
  const Value y = random_images({64, 16, 8, 8});
  measure(state, y.numel() * 9, [&] { return emit(op::AvgPoolGrad{kPool, {24, 24}}, {y}); });
}
void transpose(benchmark::State& state) {
  const Value x = permute(random_tensor({state.range(0), state.range(0)}), {1, 0});
  measure(state, 2 * x.numel(), [&] { return reshape(x, {x.numel()}); });
}
void to_channels_first(benchmark::State& state) {
  const Value x = random_images({64, 16, 8, 8});
  measure(state, 2 * x.numel(), [&] { return reshape(x, {64, 1024}); });
}
void log_softmax_rows(benchmark::State& state) {
  const Value x = random_tensor({1024, 1024});
  measure(state, 2 * x.numel(), [&] { return log_softmax(x, 1); });
}

/// What one call costs, by function, element type and size: `single/add/float32/1000`.
void register_single_ops() {
  using op::BinaryFn, op::UnaryFn;
  using Function = Value (*)(const Value& x, const Value& y, const Value& flags);
  struct Row {
    const char* name;
    bool takes_integers;
    Function function;
  };
  static constexpr Row kRows[] = {
      {"add", true, [](auto& x, auto& y, auto&) { return emit(op::Binary{BinaryFn::Add}, {x, y}); }},
      {"mul_number", true, [](auto& x, auto&, auto&) { return emit(op::Binary{BinaryFn::Mul}, {x, Value(3)}); }},
      {"div_number", false, [](auto& x, auto&, auto&) { return emit(op::Binary{BinaryFn::Div}, {x, Value(3)}); }},
      {"maximum", true, [](auto& x, auto& y, auto&) { return emit(op::Binary{BinaryFn::Maximum}, {x, y}); }},
      {"less", true, [](auto& x, auto& y, auto&) { return emit(op::Binary{BinaryFn::Less}, {x, y}); }},
      {"exp", false, [](auto& x, auto&, auto&) { return emit(op::Unary{UnaryFn::Exp}, {x}); }},
      {"relu", true, [](auto& x, auto&, auto&) { return emit(op::Unary{UnaryFn::Relu}, {x}); }},
      {"to_float64", true, [](auto& x, auto&, auto&) { return emit(op::Cast{DType::F64}, {x}); }},
      {"to_int8", true, [](auto& x, auto&, auto&) { return emit(op::Cast{DType::I8}, {x}); }},
      {"where", true, [](auto& x, auto& y, auto& flags) { return emit(op::Where{}, {flags, x, y}); }},
  };
  for (const Row& row : kRows)
    for (const DType dtype :
         {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16, DType::U8, DType::U32})
      for (const std::int64_t size : {16, 1000, 100000}) {
        if (is_integer(dtype) && !row.takes_integers) continue;
        const std::string name = "single/" + std::string(row.name) + "/" + std::string(kiln::name(dtype)) + "/";
        benchmark::RegisterBenchmark((name + std::to_string(size)).c_str(), [=](benchmark::State& state) {
          const auto some = [=] {
            return cast(emit(op::Binary{op::BinaryFn::Mul}, {random_tensor({size}), Value(100.0)}), dtype);
          };
          const Value x = some(), y = some();
          const Value flags = cast(x, DType::Bool);
          measure(state, size, [&] { return row.function(x, y, flags); });
        });
      }
}

BENCHMARK(add)->Arg(10)->Arg(1000)->Arg(1 << 16)->Arg(1 << 20);
BENCHMARK(add_channel_bias);
BENCHMARK(add_row);
BENCHMARK(add_slices)->Arg(16)->Arg(64)->Arg(200);
BENCHMARK(relu);
BENCHMARK(gelu)->Arg(1000)->Arg(1 << 20);
BENCHMARK(dropout);
BENCHMARK(dropout_channels_last);
BENCHMARK(sum_all)->Arg(1000)->Arg(1 << 20);
BENCHMARK(sum_to_channels);
BENCHMARK(sum_rows);
BENCHMARK(adaptive_pool);
BENCHMARK(adaptive_pool_gradient);
BENCHMARK(transpose)->Arg(64);
BENCHMARK(to_channels_first);
BENCHMARK(log_softmax_rows);

}  // namespace

int main(int count, char** words) {
  register_single_ops();
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
