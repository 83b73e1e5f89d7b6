// Numbers in a uniform block, offsets of bindings, and spare blocks.
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

TEST(UniformBlock, HoldsNumbersOfAllTypes) {
  std::vector<double> out(8);
  Builder k("numbers", 32);
  const Expr small = k.number(DType::I8);
  const Buffer to = k.output(DType::F64);
  const Expr whole = k.number(DType::I64), real = k.number(DType::F64), half = k.number(DType::F16);
  const Numbers table = k.numbers(2);
  const Expr word = k.number(DType::U32), large = k.number(DType::U64);
  k.when(k.thread() == 0, [&] {
    int at = 0;
    for (const Expr& each : {small, whole, real, half, word, large, table[k.literal(DType::I32, 1)]})
      to.store(k.literal(DType::I32, at++), each.as(DType::F64));
  });
  const Kernel kernel = k.finish();
  const Kernel made = rule_named("uniform_block").apply(kernel);
  EXPECT_EQ(made.parameters.size(), 2u);
  EXPECT_EQ(made.parameters[1].uniform, 1 + 2 + 2 + 1 + 4 + 1 + 2);
  run(kernel, 1,
      {-5, out, std::int64_t{-6000000000}, 0.1, 0.5f, std::int64_t{3}, std::int64_t{-4000000000}, 4000000000u,
       std::uint64_t{18000000000000000000u}});
  EXPECT_EQ(out, (std::vector<double>{-5, -6000000000, 0.1, 0.5, 4000000000, 1.8e19, -4000000000, 0}));
}

TEST(Offsets, BelongToEachBuffer) {
  std::vector<std::int16_t> a(32), b(32), c(32), out(64);
  for (std::size_t i = 0; i < 32; ++i) {
    a[i] = static_cast<std::int16_t>(i);
    b[i] = static_cast<std::int16_t>(100 + i);
    c[i] = static_cast<std::int16_t>(200 + i);
  }
  Builder k("chosen", 32);
  const Table tables = k.inputs(DType::I16, 3);
  const Buffer to = k.output(DType::I16);
  const Expr which = k.block() + 1;
  const Buffer from = tables[which];
  to.store(k.place(DType::I64), from[k.thread()]);
  run(k.finish(), 2, {a, b, c, out});
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], (i < 32 ? b : c)[i % 32]);

  const Kernel kernel = [] {
    Builder one("one", 32);
    const Buffer x = one.both(DType::I32);
    x.store(one.thread(), one.thread());
    return lower::with_offsets(one.finish());
  }();
  EXPECT_NE(sentence_of([&] {
              const std::uint64_t argument = 1026;
              lowered_arguments(kernel, 1, std::span(&argument, 1), [](std::uint64_t) { return std::uint64_t{1024}; });
              return 0;
            }).find("kernel one: a buffer begins 2 bytes behind"),
            std::string::npos);
}

TEST(SpareBlocks, DoNothing) {
  std::vector<std::int32_t> out(96);
  Builder k("counting", 32);
  const Buffer to = k.output(DType::I32);
  to.store(k.place(DType::I32), k.blocks() * 1000 + k.block());
  run(k.finish(), 3, {out});  // three more blocks would store outside
  for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], static_cast<std::int32_t>(3000 + i / 32));
}

}  // namespace
}  // namespace kiln::gpu
