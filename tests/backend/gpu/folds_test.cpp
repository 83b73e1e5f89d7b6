// Folds of a warp and of a block, against loops of float64.
#include <cmath>

#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

TEST(Folds, OfABlockAreThoseOfALoop) {
  for (const int threads : {32, 64, 256, 1024}) {
    std::vector<float> x(static_cast<std::size_t>(3 * threads)), out(9);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 101));
    Builder k("folds", threads);
    const Buffer in = k.input(DType::F32), to = k.output(DType::F32);
    const Expr mine = in[k.block() * threads + k.thread()];
    const Expr sum = fold_block(k, mine, [](const Expr& a, const Expr& b) { return a + b; });
    const Expr most = fold_block(k, mine, [](const Expr& a, const Expr& b) { return max(a, b); });
    const Expr least = fold_block(k, mine, [](const Expr& a, const Expr& b) { return min(a, b); });
    // Every thread knows; the last one tells.
    k.when(k.thread() == threads - 1, [&] {
      to.store(k.block() * 3, sum);
      to.store(k.block() * 3 + 1, most);
      to.store(k.block() * 3 + 2, least);
    });
    run(k.finish(), 3, {x, out});
    for (std::size_t block = 0; block < 3; ++block) {
      double total = 0, high = -9, low = 9;
      for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t) {
        const double value = x[block * static_cast<std::size_t>(threads) + t];
        total += value;
        high = std::max(high, value);
        low = std::min(low, value);
      }
      EXPECT_NEAR(out[block * 3], total, 1e-6 * threads);
      EXPECT_EQ(out[block * 3 + 1], static_cast<float>(high));
      EXPECT_EQ(out[block * 3 + 2], static_cast<float>(low));
    }
  }
}

TEST(Folds, OfAWarpReachEveryLane) {
  std::vector<std::int64_t> out(128);
  Builder k("warps", 128);
  const Buffer to = k.output(DType::I64);
  const Expr t = k.thread();
  to.store(t, fold_warp(k, t.as(DType::I64), [](const Expr& a, const Expr& b) { return a + b; }));
  run(k.finish(), 1, {out});
  for (std::int64_t t = 0; t < 128; ++t) EXPECT_EQ(out[static_cast<std::size_t>(t)], t / 32 * 32 * 32 + 31 * 16);
}

}  // namespace
}  // namespace kiln::gpu
