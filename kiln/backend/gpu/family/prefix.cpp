#include "kiln/backend/gpu/family/prefix.hpp"

namespace kiln::gpu::family {
namespace {

/// One block per line, from its beginning to its end.
struct ExclusiveSumsKernel {
  static constexpr int kThreads = 256, kEach = 4;

  Kernel kernel() const {
    Builder k("exclusive_sums", kThreads);
    const Buffer counts = k.both(DType::I32), totals = k.output(DType::I32);
    const Expr length = k.number(DType::I64);
    const Expr line = k.block().as(DType::I64) * length;
    const Local sum = k.variable(k.literal(DType::I32, 0));
    k.loop(k.literal(DType::I64, 0), length, k.literal(DType::I64, kThreads * kEach), [&](const Expr& tile) {
      const Expr first = tile + (k.thread() * kEach).as(DType::I64);
      const Local held = k.local(DType::I32, kEach), mine = k.variable(k.literal(DType::I32, 0));
      for (int i = 0; i < kEach; ++i) {
        held.set(i, k.literal(DType::I32, 0));
        k.when(first + i < length, [&] { held.set(i, counts[line + first + i]); });
        mine.set(mine + held[i]);
      }
      const Prefix prefix = prefix_sum(k, mine);
      const Local running = k.variable(sum + prefix.before);
      for (int i = 0; i < kEach; ++i) {
        k.when(first + i < length, [&] { counts.store(line + first + i, running); });
        running.set(running + held[i]);
      }
      sum.set(sum + prefix.all);
    });
    k.when(k.thread() == 0, [&] { totals.store(k.block(), sum); });
    return k.finish();
  }
};

}  // namespace

Prefix prefix_sum(Builder& k, const Expr& x) {
  const Local sum = k.variable(x);  // the sum of this lane and those before it in the warp
  for (int step = 1; step < kLanes; step *= 2) {
    const Expr from = k.shuffle(sum, max(k.lane() - step, k.literal(DType::I32, 0)));
    sum.set(select(k.lane() >= step, sum + from, sum));
  }
  const int warps = k.threads() / kLanes;
  const Shared sums = k.shared(x.type(), warps);
  k.barrier();  // a thread may still read the sums of an earlier call
  k.when(k.lane() == kLanes - 1, [&] { sums.store(k.warp(), sum); });
  k.barrier();
  const Local before = k.variable(literal_like(x, std::int64_t{0})), all = k.variable(literal_like(x, std::int64_t{0}));
  for (int i = 0; i < warps; ++i) {
    const Expr each = sums[k.literal(DType::I32, i)];
    before.set(select(k.warp() > i, before + each, before));
    all.set(all + each);
  }
  const Expr below = k.shuffle(sum, max(k.lane() - 1, k.literal(DType::I32, 0)));
  return {before + select(k.lane() == 0, literal_like(x, std::int64_t{0}), below), all};
}

void exclusive_sums(Gpu& gpu, const Array& counts, const Array& totals) {
  gpu.launch(ExclusiveSumsKernel{}, counts.shape[0], {counts, totals, counts.shape[1]});
}

}  // namespace kiln::gpu::family
