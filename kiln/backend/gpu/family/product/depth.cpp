// The depth of a product in shares, which blocks sum by themselves.
#include <algorithm>

#include "kiln/backend/gpu/family/product/product.hpp"

namespace kiln::gpu::family {
namespace {

/// A block sums adjacent elements, and a team of threads each of them: thread t of a team takes every team-th share.
struct SumKernel {
  DType dtype, index;
  int team;
  static constexpr int kTogether = 4;  // loads in flight

  Kernel kernel() const {
    const DType type = expr::computed_in(dtype);
    const int elements = kThreads / team;
    Builder k("sum_parts", kThreads);
    const Buffer parts = k.input(type), to = k.output(dtype);
    const Expr shares = k.number(index), count = k.number(index);
    const Expr element = k.thread() % elements, member = k.thread() / elements;
    const Expr i = k.block().as(index) * elements + element.as(index), zero = k.literal(type, 0);
    const Local sum = k.variable(zero);
    k.when(i < count, [&] {
      k.loop(member.as(index), shares, k.literal(index, team * kTogether), [&](const Expr& share) {
        std::vector<Expr> loaded;
        for (int j = 0; j < kTogether; ++j) loaded.push_back(parts[min(share + j * team, shares - 1) * count + i]);
        for (int j = 0; j < kTogether; ++j)
          sum.set(sum + (j ? select(share + j * team < shares, loaded[static_cast<std::size_t>(j)], zero) : loaded[0]));
      });
    });
    if (team > 1) {
      const Shared of_members = k.shared(type, kThreads);
      of_members.store(k.thread(), sum.get());
      k.barrier();
      k.when(member == 0, [&] {
        for (int other = 1; other < team; ++other) sum.set(sum + of_members[element + other * elements]);
      });
    }
    k.when((member == 0) & (i < count), [&] { to.store(i, sum); });
    return k.finish();
  }
};

}  // namespace

DepthSplit split_depth(const Gpu& gpu, std::int64_t blocks, std::int64_t depth, std::int64_t least) {
  const std::int64_t wanted = 2 * gpu.driver().capabilities().multiprocessors;
  const std::int64_t count =
      std::clamp<std::int64_t>(wanted / std::max<std::int64_t>(blocks, 1), 1, std::max<std::int64_t>(depth / least, 1));
  const std::int64_t span = blocks_for(blocks_for(std::max<std::int64_t>(depth, 1), count), least) * least;
  return {std::max<std::int64_t>(blocks_for(depth, span), 1), span};
}

void sum_parts(Gpu& gpu, const std::byte* parts, std::int64_t shares, std::byte* to, std::int64_t count, DType dtype) {
  // Few elements of many shares would mean few threads, each with one load in flight.
  constexpr std::int64_t kBusy = 1024;  // threads of a multiprocessor
  const std::int64_t threads = gpu.driver().capabilities().multiprocessors * kBusy;
  int team = 1;
  while (team < kLanes && 2 * team * count <= threads && 2 * team * SumKernel::kTogether <= 2 * shares) team *= 2;
  gpu.launch(SumKernel{dtype, index_type({(shares + SumKernel::kTogether * team) * count + kThreads}), team},
             blocks_for(count, kThreads / team), {parts, to, shares, count});
}

}  // namespace kiln::gpu::family
