// These functions say what a gradient of attention reads, and where its results lie.
#include <limits>

#include "kiln/backend/gpu/family/sequence/attention_grad.hpp"

namespace kiln::gpu::family {

Given::Given(Builder& b, AttentionParameters& p)
    : grad(p.factor()),
      log_sum(b.input(p.type)),
      delta(b.input(p.type)),
      chunks(b.number(p.key.index)),
      tiles(b.number(p.key.index)) {}

OfQuery::OfQuery(Builder& b, const AttentionParameters& p, const Given& given, const Expr& batch, const Expr& head,
                 const Expr& query) {
  const Expr zero = b.literal(p.type, 0), never = b.literal(p.type, -std::numeric_limits<double>::infinity());
  const Local held = b.local(p.type, 2);
  b.when(
      query < p.queries,
      [&] {
        const Expr at = (batch * p.heads + head) * p.queries + query, sum = given.log_sum[at];
        held.set(0, select(sum == never, zero, sum));
        held.set(1, given.delta[at]);
      },
      [&] {
        held.set(0, zero);
        held.set(1, zero);
      });
  shift = held[0];
  delta = held[1];
}

bool allocate_together(Gpu& gpu, Call call, std::vector<Array>& made) {
  constexpr std::size_t kParts = 3;
  const Node *const q = call.in[0].node().get(), *const k = call.in[1].node().get();
  const std::int64_t step = k->offset - q->offset;
  Shape all = q->desc.shape;
  all.push_back(static_cast<std::int64_t>(kParts));
  Dims strides = q->strides;
  strides.push_back(step);
  for (std::size_t i = 0; i < kParts; ++i) {
    const Node* const part = call.in[i].node().get();
    if (call.out[i].node()->storage || part->storage.get() != q->storage.get() || part->desc != q->desc ||
        part->strides != q->strides || part->offset != q->offset + static_cast<std::int64_t>(i) * step)
      return false;
  }
  if (!strided::same_order(all, strides, dense_strides(all, order_of(all, strides)))) return false;
  Value whole(make_ref<Node>(Desc{{numel(all)}, q->desc.dtype}, call.out[0].device()));
  gpu.allocate(whole);
  for (std::size_t i = 0; i < kParts; ++i) {
    strided::alias(call.out[i], whole, q->strides, static_cast<std::int64_t>(i) * step);
    made.push_back(read(call.out[i]));
  }
  return true;
}

}  // namespace kiln::gpu::family
