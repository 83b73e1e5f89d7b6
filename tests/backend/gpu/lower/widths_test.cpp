// Accesses of several elements, for devices that move fewer bytes at once.
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

TEST(NarrowAccesses, MoveNoMoreBytesThanTheDevice) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::U8})
    for (const int widest : {4, 8}) {
      const int width = static_cast<int>(16 / size_of(dtype));
      Builder k("copies", 32);
      const Buffer in = k.input(dtype), out = k.output(dtype);
      const Shared shared = k.shared(dtype, 32 * width);
      shared.store(k.thread() * width, in.load(k.thread() * width, width));
      out.store(k.thread() * width, shared.load(k.thread() * width, width));
      const Kernel made = lower::with_narrow_accesses(k.finish(), widest);
      std::int64_t most = 0, moved = 0;
      const auto see = [&](const Statement& each) {
        const auto elements = each.kind == Statement::Kind::Let ? each.instruction.width : each.operands.size() - 1;
        const auto bytes = static_cast<std::int64_t>(elements * size_of(dtype));
        const bool moves = each.kind != Statement::Kind::Let || each.instruction.kind == Instruction::Kind::Load ||
                           each.instruction.kind == Instruction::Kind::Shared;
        if (!moves) return;
        most = std::max(most, bytes);
        moved += bytes;
      };
      each_statement(made.body, see);
      EXPECT_EQ(most, std::max<std::int64_t>(widest, static_cast<std::int64_t>(size_of(dtype)))) << name(dtype);
      EXPECT_EQ(moved, 4 * 16) << name(dtype);
      std::vector<std::uint8_t> x(32 * 16), y(32 * 16);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i * 7 % 121);
      interpret(made, 1, std::vector{Given(x).bits, Given(y).bits}, std::vector{Given(x).extent, Given(y).extent});
      EXPECT_EQ(x, y) << name(dtype);
    }
}

}  // namespace
}  // namespace kiln::gpu
