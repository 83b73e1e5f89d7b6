// Atomic updates of float32 on devices that update integers alone.
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

Capabilities integers_alone() {
  return {.updates = {DType::I32, DType::U32}, .updates_shared = {DType::I32, DType::U32}};
}

/// Whether anything updates a float.
bool updates_floats(const Kernel& kernel) {
  bool any = false;
  const auto see = [&](const Statement& each) {
    const Instruction& in = each.instruction;
    any |= (in.kind == Instruction::Kind::Update || in.kind == Instruction::Kind::UpdateShared) && is_float(in.type);
  };
  each_statement(kernel.body, see);
  return any;
}

TEST(UpdatedWords, SumFloatsOfManyThreads) {
  // Whole numbers, whose sum has no order.
  std::vector<float> x(128), sums{0.5f, -100}, in_blocks(2), old(128);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i) - 1000;
  Builder k("sums", 64);
  const Buffer in = k.input(DType::F32), out = k.both(DType::F32), once = k.output(DType::F32),
               before = k.output(DType::F32);
  const Shared shared = k.shared(DType::F32, 2);
  const Expr zero = k.literal(DType::I32, 0), value = in[k.place(DType::I32)];
  k.when(k.thread() < 2, [&] { shared.store(k.thread(), k.literal(DType::F32, 0)); });
  k.barrier();
  before.store(k.place(DType::I32), out.update(Update::Add, k.thread() % 2, value));
  shared.update(Update::Add, zero, value);
  k.barrier();
  k.when(k.thread() == 0, [&] { once.store(k.block(), shared[zero]); });
  const Kernel kernel = k.finish(), made = lowered(kernel, integers_alone());
  EXPECT_TRUE(updates_floats(kernel));
  EXPECT_FALSE(updates_floats(made));
  run(kernel, 2, {x, sums, in_blocks, old});
  const auto expect = [&](const std::vector<float>& found) {
    double even = 0.5, odd = -100, first = 0, second = 0;
    for (std::size_t i = 0; i < 128; ++i) {
      (i % 2 ? odd : even) += static_cast<double>(x[i]);
      (i < 64 ? first : second) += static_cast<double>(x[i]);
    }
    EXPECT_EQ(found, (std::vector<float>{static_cast<float>(even), static_cast<float>(odd)}));
    EXPECT_EQ(in_blocks, (std::vector<float>{static_cast<float>(first), static_cast<float>(second)}));
    // Each old value is one of the sums on the way, and the first ones are what was there.
    EXPECT_EQ(old[0], 0.5f);
    EXPECT_EQ(old[1], -100.0f);
  };
  expect(sums);
  sums = {0.5f, -100};
  std::ranges::fill(in_blocks, 7.0f);
  run_lowered(kernel, 2, {x, sums, in_blocks, old});
  expect(sums);
}

TEST(UpdatedWords, ExchangeFloats) {
  std::vector<float> x(64, 1.5f), old(64), swapped(64);
  x[3] = -0.0f;
  Builder k("exchanges", 64);
  const Buffer out = k.both(DType::F32), before = k.output(DType::F32), found = k.output(DType::F32);
  const Expr i = k.thread();
  before.store(i, out.update(Update::Exchange, i, i.as(DType::F32)));
  // Equal are those whose bits are.
  found.store(i, out.compare_and_swap(i, k.literal(DType::F32, 7.0), k.literal(DType::F32, -7.0)));
  const Kernel kernel = k.finish();
  EXPECT_FALSE(updates_floats(lowered(kernel, integers_alone())));
  run_lowered(kernel, 1, {x, old, swapped});
  for (std::size_t t = 0; t < 64; ++t) {
    EXPECT_EQ(old[t], t == 3 ? -0.0f : 1.5f);
    EXPECT_EQ(swapped[t], static_cast<float>(t));
    EXPECT_EQ(x[t], t == 7 ? -7.0f : static_cast<float>(t));
  }
}

}  // namespace
}  // namespace kiln::gpu
