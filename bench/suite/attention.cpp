// Scaled dot-product attention of 16 heads over 512 positions of width 64 (more of both on a GPU, in bfloat16), forward
// and with its gradients.
#include "kiln/ops/sequence/attention.hpp"
#include "bench/suite/workload.hpp"
#include "kiln/autodiff/backward.hpp"

namespace bench {
namespace {

struct Size {
  std::int64_t batch, heads, time, width;
  DType dtype;
};

Value heads(const Size& size, const Device& device) {
  return normals({size.batch, size.heads, size.time, size.width}, size.dtype, device);
}

}  // namespace

std::vector<Workload> attention_workloads() {
  std::vector<Workload> rows;
  const Size size = on_gpu() ? Size{8, 16, 2048, 64, DType::BF16} : Size{2, 8, 512, 64, DType::F32};
  for (const bool causal : {false, true}) {
    // A causal query sees half of the keys. The backward pass has five products, the forward pass two.
    const auto pairs = static_cast<double>(size.batch * size.heads * size.time * size.time);
    const double flops = 4.0 * pairs * static_cast<double>(size.width) * (causal ? 0.5 : 1);
    const std::string ending = causal ? "_causal" : "";
    const AttentionOptions options{.causal = causal};
    rows.push_back({.name = "sdpa_fwd" + ending, .work = {.flops = flops}, .make = [=] {
                      const Value q = heads(size, device()), k = heads(size, device()), v = heads(size, device());
                      return timed(device(), [=] { return Values{attention(q, k, v, options)}; });
                    }});
    rows.push_back({.name = "sdpa_fwd_bwd" + ending, .work = {.flops = 3.5 * flops}, .make = [=] {
                      const Device on = device().autodiff();
                      const Values in{heads(size, on).require_grad(), heads(size, on).require_grad(),
                                      heads(size, on).require_grad()};
                      const Value seed = heads(size, on);
                      return timed(device(), [=] {
                        const Value y = attention(in[0], in[1], in[2], options);
                        return grad({&y, 1}, {&seed, 1}, in);
                      });
                    }});
  }
  return rows;
}

}  // namespace bench
