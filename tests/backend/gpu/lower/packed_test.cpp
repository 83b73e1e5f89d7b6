// Elements of 1 and 2 bytes as parts of words.
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

TEST(PackedElements, LeaveTheirNeighboursAlone) {
  // Every third element of what begins in the middle of a word; the threads share words.
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    std::vector<std::uint8_t> memory(256);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(200 + i);
    std::vector<std::uint8_t> expected = memory;
    for (std::size_t t = 0; t < 64; ++t) expected[first + 3 * t] = static_cast<std::uint8_t>(7 * t);
    Builder k("thirds", 64);
    const Buffer out = k.output(DType::U8);
    out.store(k.thread() * 3, k.thread() * 7);
    const Kernel kernel = lowered(k.finish(), poor_device());
    const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(memory.data()), address = begin + first;
    interpret_lowered(kernel, 1, std::span(&address, 1),
                      [&](std::uint64_t) { return Extent{begin, begin + memory.size()}; });
    EXPECT_EQ(memory, expected) << first;
  }
}

TEST(PackedElements, AreStoredAtOnceWhereTheyFillWords) {
  const auto updates = [](int width) {
    Builder k("width", 32);
    const Buffer in = k.input(DType::F16), out = k.output(DType::F16);
    out.store(k.thread() * width, in.load(k.thread() * width, width));
    const Kernel kernel = rule_named("packed_elements").apply(k.finish());
    int count = 0;
    const auto see = [&](const Statement& each) { count += each.instruction.kind == Instruction::Kind::Update; };
    each_statement(kernel.body, see);
    return count;
  };
  EXPECT_EQ(updates(1), 2);
  EXPECT_EQ(updates(2), 0);
  EXPECT_EQ(updates(8), 0);
}

}  // namespace
}  // namespace kiln::gpu
