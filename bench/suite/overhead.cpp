// What an operation costs besides its arithmetic: thousands of operations on very small tensors. With 1000 operations,
// milliseconds read as microseconds per operation.
#include "bench/suite/workload.hpp"
#include "kiln/autodiff/backward.hpp"

namespace bench {
namespace {

constexpr int kOps = 1000;

Value chain(const Value& t) {
  Value y = t;
  for (int i = 0; i < kOps; ++i) y = y + t;
  return y;
}

/// The two phases of a chain on tensors of one element: recording it and running it.
struct Lifetime {
  double asked_ms, run_ms;
};
Lifetime live(const Value& t) {
  const double start = now_ms();
  const Value y = chain(t);
  const double asked = now_ms();
  t.device().sync();
  return {asked - start, now_ms() - asked};
}

}  // namespace

std::vector<Workload> overhead_workloads() {
  return {
      {.name = "small_add_chain_1000",
       .work = {.flops = 1024.0 * kOps},
       .make =
           [] {
             const Value t = normals({32, 32});
             return timed(device(), [=] { return Values{chain(t)}; });
           }},
      {.name = "small_add_chain_1000_fwd_bwd",
       .work = {.flops = 1024.0 * kOps},
       .make =
           [] {
             const Value t = normals({32, 32}, DType::F32, device().autodiff()).require_grad();
             return timed(device(), [=] { return Values{backward(sum(chain(t))).of(t)}; });
           }},
      {.name = "record_1000_ops",
       .work = {},
       .make =
           [] {
             const Value t = normals({1});
             return [=] { return live(t).asked_ms; };
           }},
      // The plan of these is cached after the first time.
      {.name = "plan_hit_1000_ops",
       .work = {},
       .make =
           [] {
             const Value t = normals({1});
             return [=] { return live(t).run_ms; };
           }},
  };
}

}  // namespace bench
