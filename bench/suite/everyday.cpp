// Calls on about 10^6 elements in shapes and element types other than those of models: short rows, leading and mixed
// dimensions, few channels, broadcasting, conversions.
#include "bench/suite/workload.hpp"

namespace bench {
namespace {

Work moves(double read, double written) { return {.read = read, .written = written}; }

Workload of(std::string name, const Work& work, std::function<Values()> operands,
            std::function<Value(const Values&)> f) {
  return {.name = std::move(name), .work = work, .make = [operands = std::move(operands), f = std::move(f)] {
            const Values in = operands();
            device().sync();
            return timed(device(), [=] { return Values{f(in)}; });
          }};
}
Workload of_normals(std::string name, const Shape& shape, const Work& work, std::function<Value(const Value&)> f) {
  return of(
      std::move(name), work, [shape] { return Values{normals(shape)}; },
      [f = std::move(f)](const Values& in) { return f(in[0]); });
}
Workload of_sum(std::string name, const Shape& shape, Dims dims) {
  return of_normals(std::move(name), shape, moves(4.0 * static_cast<double>(numel(shape)), 0),
                    [dims](const Value& x) { return sum(x, dims); });
}
/// Casts a million elements: whole numbers from -100 to 100, or, as booleans, whether these are not 0.
Workload of_cast(std::string name, DType from, DType to) {
  constexpr std::int64_t kCount = 1 << 20;
  return of(
      std::move(name), moves(kCount * static_cast<double>(size_of(from)), kCount * static_cast<double>(size_of(to))),
      [from] { return Values{cast(cast(uniform({kCount}, -100, 100, device()), DType::I32), from)}; },
      [to](const Values& in) { return cast(in[0], to); });
}
/// Writes a permuted tensor in its new order.
Workload of_permute(std::string name, const Shape& shape, Dims order) {
  const double bytes = 4.0 * static_cast<double>(numel(shape));
  return of_normals(std::move(name), shape, moves(bytes, bytes),
                    [order](const Value& x) { return reshape(permute(x, order), {x.numel()}); });
}

}  // namespace

std::vector<Workload> everyday_workloads() {
  constexpr double kMillion = 1 << 20;
  return {
      of_sum("sum_rows_of_16", {65536, 16}, {1}),
      of_sum("sum_rows_of_96", {10000, 96}, {1}),
      of_sum("sum_rows_of_200", {5000, 200}, {1}),
      of_sum("sum_first_of_3", {1 << 18, 3}, {0}),
      of_sum("sum_first_of_16", {65536, 16}, {0}),
      of_sum("sum_middle", {100, 100, 100}, {1}),
      of_sum("sum_outer_dims", {100, 100, 100}, {0, 2}),
      of_sum("sum_channels_last", {32, 28, 28, 64}, {0, 1, 2}),
      of_normals("max_rows_of_96", {10000, 96}, moves(3.84e6, 0), [](const Value& x) { return max(x, {1}); }),
      of_normals("global_average_7x7", {32, 512, 7, 7}, moves(3.2e6, 0),
                 [](const Value& x) { return mean(x, {2, 3}); }),
      of_normals("norm_rows_of_96", {10000, 96}, moves(3.84e6, 0),
                 [](const Value& x) { return sqrt(sum(square(x), {1})); }),
      of(
          "zeros_4mb", moves(0, 4 * kMillion), [] { return Values{}; },
          [](const Values&) { return zeros({1 << 20}, device()); }),
      of(
          "outer_product_1024", moves(0, 4 * kMillion), [] { return Values{normals({1024, 1}), normals({1, 1024})}; },
          [](const Values& in) { return in[0] * in[1]; }),
      of_cast("cast_f64_f16", DType::F64, DType::F16),
      of_cast("cast_f64_f32", DType::F64, DType::F32),
      of_cast("cast_f32_bf16", DType::F32, DType::BF16),
      of_cast("cast_f32_i32", DType::F32, DType::I32),
      of_cast("cast_i32_bf16", DType::I32, DType::BF16),
      of_cast("cast_i64_f16", DType::I64, DType::F16),
      of_cast("cast_bool_f16", DType::Bool, DType::F16),
      of_cast("cast_f16_i32", DType::F16, DType::I32),
      of(
          "clamp_i8", moves(kMillion, kMillion),
          [] { return Values{cast(uniform({1 << 20}, -100, 100, device()), DType::I8)}; },
          [](const Values& in) { return clamp(in[0], -20, 20); }),
      of(
          "add_i16", moves(4 * kMillion, 2 * kMillion),
          [] {
            const Value x = cast(uniform({1 << 20}, -100, 100, device()), DType::I16);
            return Values{x, x + 1};
          },
          [](const Values& in) { return in[0] + in[1]; }),
      of_permute("permute_3_channels_last", {8, 3, 224, 224}, {0, 2, 3, 1}),
      of_permute("permute_3_channels_first", {8, 224, 224, 3}, {0, 3, 1, 2}),
      of_permute("permute_16_channels_last", {32, 16, 56, 56}, {0, 2, 3, 1}),
      of_permute("permute_16_channels_first", {32, 56, 56, 16}, {0, 3, 1, 2}),
      of_permute("permute_heads", {8, 128, 8, 32}, {0, 2, 1, 3}),
  };
}

}  // namespace bench
