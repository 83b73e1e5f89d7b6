// Shuffles through shared memory.
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

TEST(SharedShuffles, PassValuesWhereAllThreadsGet) {
  std::vector<std::int32_t> x(128), y(128);
  for (std::size_t i = 0; i < 128; ++i) x[i] = static_cast<std::int32_t>(i * i);
  Builder k("passing", 128);
  const Buffer in = k.input(DType::I32), out = k.output(DType::I32);
  const Expr rounds = k.number(DType::I32);
  const Local sum = k.variable(in[k.thread()]), turn = k.variable(k.literal(DType::I32, 0));
  k.loop(k.literal(DType::I32, 0), rounds, k.literal(DType::I32, 1),
         [&](const Expr& i) { sum.set(sum + k.shuffle(sum, (k.lane() + i + 1) % kLanes)); });
  k.loop_while([&] { return turn.get() < rounds; },
               [&] {
                 const Expr even = k.shuffle((sum % 2) == 0, k.literal(DType::I32, 3));
                 sum.set(sum + select(even, k.literal(DType::I32, 1), k.literal(DType::I32, 5)));
                 turn.set(turn + 1);
               });
  out.store(k.thread(), sum);
  const Kernel kernel = k.finish();
  EXPECT_EQ(left_in(lowered(kernel, poor_device())), "");
  run(kernel, 1, {x, y, 3});
  std::vector<std::int32_t> sums = x;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<std::int32_t> before = sums;
    for (std::size_t t = 0; t < 128; ++t) sums[t] += before[t / 32 * 32 + (t + i + 1) % 32];
  }
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::int32_t> before = sums;
    for (std::size_t t = 0; t < 128; ++t) sums[t] += before[t / 32 * 32 + 3] % 2 == 0 ? 1 : 5;
  }
  EXPECT_EQ(y, sums);
  std::ranges::fill(y, 0);
  run_lowered(kernel, 1, {x, y, 3});
  EXPECT_EQ(y, sums);
}

TEST(SharedShuffles, AreRefusedWherePerhapsNotAllThreadsGet) {
  const auto said = [](auto write) {
    Builder k("parting", 64);
    const Buffer in = k.both(DType::I32);
    write(k, in);
    return refused("shared_shuffles", k.finish());
  };
  const std::string expected = "kernel parting: a shuffle that perhaps not all threads";
  const auto shuffled = [](Builder& k, const Buffer& x) { x.store(k.thread(), k.shuffle(k.thread(), k.lane())); };
  EXPECT_NE(said([&](Builder& k, const Buffer& x) { k.when(k.warp() == 0, [&] { shuffled(k, x); }); }).find(expected),
            std::string::npos);
  // By way of a variable that threads set differently, and the next round of the loop sees.
  EXPECT_NE(said([&](Builder& k, const Buffer& x) {
              const Local on = k.variable(k.boolean(true)), odd = k.variable(k.boolean(true));
              k.loop(k.literal(DType::I32, 0), k.literal(DType::I32, 3), k.literal(DType::I32, 1), [&](const Expr&) {
                k.when(on.get(), [&] { shuffled(k, x); });
                on.set(odd.get());
                k.when(k.warp() == 0, [&] { odd.set(k.boolean(false)); });
              });
            }).find(expected),
            std::string::npos);
  EXPECT_EQ(said([&](Builder& k, const Buffer& x) { k.when(k.block() == 0, [&] { shuffled(k, x); }); }), "");
}

}  // namespace
}  // namespace kiln::gpu
