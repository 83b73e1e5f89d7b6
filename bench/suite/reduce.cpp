// Reductions, normalisations and rearrangements of a matrix of 4096 x 4096 elements, 16384 x 16384 on a GPU.
#include "bench/suite/workload.hpp"

namespace bench {
namespace {

std::int64_t side() { return on_gpu() ? 1 << 14 : 1 << 12; }

Workload of_matrix(std::string name, const Work& work, std::function<Value(const Value&)> f) {
  return {.name = std::move(name), .work = work, .make = [f = std::move(f)] {
            const Value x = normals({side(), side()});
            return timed(device(), [=] { return Values{f(x)}; });
          }};
}

}  // namespace

std::vector<Workload> reduce_workloads() {
  const std::int64_t kSide = side();
  const double kBytes = 4.0 * static_cast<double>(kSide * kSide);
  const Work kReads{.read = kBytes}, kMoves{.read = kBytes, .written = kBytes};
  return {
      of_matrix("sum_all", kReads, [](const Value& x) { return sum(x); }),
      of_matrix("sum_rows(last dim)", kReads, [](const Value& x) { return sum(x, {1}); }),
      of_matrix("sum_cols(first dim)", kReads, [](const Value& x) { return sum(x, {0}); }),
      of_matrix("argmax_last", kReads, [](const Value& x) { return argmax(x, 1); }),
      of_matrix("softmax_last", kMoves, [](const Value& x) { return softmax(x, 1); }),
      {.name = "layernorm_last",
       .work = kMoves,
       .make =
           [=] {
             const Value x = normals({kSide, kSide}), weight = normals({kSide}), bias = normals({kSide});
             return timed(device(), [=] { return Values{layer_norm(x, weight, bias)}; });
           }},
      // The same functions as a program would compose them.
      of_matrix("softmax_composed", kMoves,
                [](const Value& x) {
                  const Value e = exp(x - max(x, {1}, true));
                  return e / sum(e, {1}, true);
                }),
      {.name = "rmsnorm_composed",
       .work = kMoves,
       .make =
           [=] {
             const Value x = normals({kSide, kSide}), weight = normals({kSide});
             return timed(device(), [=] { return Values{x * rsqrt(mean(square(x), {1}, true) + 1e-5) * weight}; });
           }},
      // A transposed view has no memory of its own until its elements are needed in row-major order.
      of_matrix("transpose_copy", kMoves, [=](const Value& x) { return reshape(transpose(x), {kSide * kSide}); }),
      {.name = "gather_rows",
       .work = kMoves,
       .make =
           [=] {
             const Value x = normals({kSide, kSide});
             const Value rows = cast(uniform({kSide}, 0, kSide, device()), DType::I64);
             return timed(device(), [=] { return Values{select(x, 0, rows)}; });
           }},
  };
}

}  // namespace bench
