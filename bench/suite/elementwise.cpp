// Elementwise operations on 2^24 numbers, 2^28 on a GPU: what they cost beyond reading and writing these.
#include <cmath>

#include "bench/suite/workload.hpp"

namespace bench {

std::vector<Workload> elementwise_workloads() {
  const std::int64_t kCount = on_gpu() ? 1 << 28 : 1 << 24, kSide = on_gpu() ? 1 << 14 : 1 << 12;
  const double kBytes = 4.0 * static_cast<double>(kCount);
  return {
      // Values never change, so nothing copies one; adding 0 is the nearest work.
      {.name = "copy",
       .work = {.read = kBytes, .written = kBytes},
       .make =
           [=] {
             const Value x = normals({kCount});
             return timed(device(), [=] { return Values{x + 0.0}; });
           }},
      {.name = "add",
       .work = {.read = 2 * kBytes, .written = kBytes},
       .make =
           [=] {
             const Value x = normals({kCount}), y = normals({kCount});
             return timed(device(), [=] { return Values{x + y}; });
           }},
      {.name = "gelu_composed",
       .work = {.read = kBytes, .written = kBytes},
       .make =
           [=] {
             const Value x = normals({kCount});
             return timed(device(), [=] { return Values{x * (erf(x / std::sqrt(2.0)) + 1.0) / 2.0}; });
           },
       .reference = gelu_loop(kCount)},
      {.name = "gelu_builtin",
       .work = {.read = kBytes, .written = kBytes},
       .make =
           [=] {
             const Value x = normals({kCount});
             return timed(device(), [=] { return Values{gelu(x)}; });
           },
       .reference = gelu_loop(kCount)},
      {.name = "bias_gelu_residual",
       .work = {.read = kBytes, .written = kBytes},
       .make =
           [=] {
             const Value x = normals({kSide, kSide}), bias = normals({kSide});
             return timed(device(), [=] { return Values{gelu(x + bias) * 0.5 + x}; });
           },
       .reference = bias_gelu_residual_loop(kSide)},
  };
}

}  // namespace bench
