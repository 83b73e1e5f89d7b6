// Scaled dot-product attention of 16 heads over 512 positions of width 64, forward and with its gradients.
#include "kiln/ops/sequence/attention.hpp"
#include "bench/suite/workload.hpp"
#include "kiln/autodiff/backward.hpp"

namespace bench {
namespace {

constexpr std::int64_t kBatch = 2, kHeads = 8, kTime = 512, kWidth = 64;

Value heads(const Device& device) { return normals({kBatch, kHeads, kTime, kWidth}, DType::F32, device); }

}  // namespace

std::vector<Workload> attention_workloads() {
  std::vector<Workload> rows;
  for (const bool causal : {false, true}) {
    // A causal query sees half of the keys; the backward pass has five products where the forward pass has two.
    const double flops = 4.0 * kBatch * kHeads * kTime * kTime * kWidth * (causal ? 0.5 : 1);
    const std::string ending = causal ? "_causal" : "";
    const AttentionOptions options{.causal = causal};
    rows.push_back({.name = "sdpa_fwd" + ending, .work = {.flops = flops}, .make = [=] {
                      const Value q = heads(cpu()), k = heads(cpu()), v = heads(cpu());
                      return timed(cpu(), [=] { return Values{attention(q, k, v, options)}; });
                    }});
    rows.push_back({.name = "sdpa_fwd_bwd" + ending, .work = {.flops = 3.5 * flops}, .make = [=] {
                      const Device device = cpu().autodiff();
                      const Values in{heads(device).require_grad(), heads(device).require_grad(),
                                      heads(device).require_grad()};
                      const Value seed = heads(device);
                      return timed(cpu(), [=] {
                        const Value y = attention(in[0], in[1], in[2], options);
                        return grad({&y, 1}, {&seed, 1}, in);
                      });
                    }});
  }
  return rows;
}

}  // namespace bench
