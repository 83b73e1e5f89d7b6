// Elementwise work on 2^24 numbers: what it costs beyond reading and writing them.
#include <cmath>

#include "bench/suite/workload.hpp"

namespace bench {
namespace {

constexpr std::int64_t kCount = 1 << 24, kSide = 1 << 12;
constexpr double kBytes = 4.0 * kCount;

}  // namespace

std::vector<Workload> elementwise_workloads() {
  return {
      // Values never change, so a copy of one is never made; adding 0 is the nearest work.
      {.name = "copy",
       .work = {.read = kBytes, .written = kBytes},
       .make =
           [] {
             const Value x = normals({kCount});
             return timed(cpu(), [=] { return Values{x + 0.0}; });
           }},
      {.name = "add",
       .work = {.read = 2 * kBytes, .written = kBytes},
       .make =
           [] {
             const Value x = normals({kCount}), y = normals({kCount});
             return timed(cpu(), [=] { return Values{x + y}; });
           }},
      {.name = "gelu_composed",
       .work = {.read = kBytes, .written = kBytes},
       .make =
           [] {
             const Value x = normals({kCount});
             return timed(cpu(), [=] { return Values{x * (erf(x / std::sqrt(2.0)) + 1.0) / 2.0}; });
           },
       .reference = gelu_loop(kCount)},
      {.name = "gelu_builtin",
       .work = {.read = kBytes, .written = kBytes},
       .make =
           [] {
             const Value x = normals({kCount});
             return timed(cpu(), [=] { return Values{gelu(x)}; });
           },
       .reference = gelu_loop(kCount)},
      {.name = "bias_gelu_residual",
       .work = {.read = kBytes, .written = kBytes},
       .make =
           [] {
             const Value x = normals({kSide, kSide}), bias = normals({kSide});
             return timed(cpu(), [=] { return Values{gelu(x + bias) * 0.5 + x}; });
           },
       .reference = bias_gelu_residual_loop(kSide)},
  };
}

}  // namespace bench
