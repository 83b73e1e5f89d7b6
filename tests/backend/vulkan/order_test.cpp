// Which commands wait for those before them.
#include "kiln/backend/vulkan/order.hpp"

#include "tests/backend/vulkan/machine.hpp"

namespace kiln::vulkan::test {
namespace {

constexpr Access kReadsA{100, 200, false}, kWritesA{100, 200, true}, kReadsB{200, 300, false}, kWritesB{200, 300, true},
    kWritesMiddle{150, 250, true};

bool waits(Order& order, std::vector<Access> accesses) { return order.waits(accesses); }

TEST(VulkanOrder, WaitsWhereOneWritesWhatAnotherTouches) {
  Order order;
  EXPECT_FALSE(waits(order, {kReadsA, kWritesB}));
  EXPECT_FALSE(waits(order, {kReadsA}));  // two that read run side by side
  EXPECT_TRUE(waits(order, {kReadsB}));   // reads what was written
  EXPECT_FALSE(waits(order, {kReadsA, kReadsB}));
  EXPECT_TRUE(waits(order, {kWritesA}));  // writes what was read
  EXPECT_TRUE(waits(order, {kWritesA}));  // writes what was written
  EXPECT_FALSE(waits(order, {kWritesB}));
  EXPECT_TRUE(waits(order, {kWritesMiddle}));  // a part of each
  EXPECT_FALSE(waits(order, {{400, 500, true}}));
}

TEST(VulkanOrder, WaitsForAndAfterWhatIsNotKnown) {
  Order order;
  EXPECT_FALSE(waits(order, {kReadsA}));
  EXPECT_TRUE(order.waits(std::nullopt));
  EXPECT_TRUE(waits(order, {kReadsB}));
  EXPECT_FALSE(waits(order, {kReadsA}));
}

TEST(VulkanOrder, EndsInAWaitWhereThereAreManyCommands) {
  Order order;
  int waited = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) waited += waits(order, {{i * 10, i * 10 + 10, true}});
  EXPECT_GT(waited, 5);
  EXPECT_LT(waited, 100);
}

std::uint64_t address(const std::byte* start) { return reinterpret_cast<std::uintptr_t>(start); }

TEST(VulkanOrder, TellsFromALaunchWhichTensorsItTouches) {
  alignas(8) static std::byte memory[300];
  Tensors tensors;
  tensors.acquired(memory, 100);
  tensors.acquired(memory + 200, 100);
  const gpu::Kernel scale = scale_kernel();  // y, x, count, factor
  const std::uint64_t arguments[] = {address(memory + 220), address(memory + 8), 3, 0};
  const Accesses all = tensors.accesses_of(scale, arguments);
  ASSERT_TRUE(all && all->size() == 2);
  EXPECT_EQ((*all)[0].begin, address(memory + 200));
  EXPECT_EQ((*all)[0].end, address(memory + 300));
  EXPECT_TRUE((*all)[0].writes);
  EXPECT_EQ((*all)[1].begin, address(memory));
  EXPECT_FALSE((*all)[1].writes);
  // A kernel that was lowered has its arguments from elsewhere.
  gpu::Kernel turned = scale;
  turned.origins = {{.of = 1}, {.of = 0}, {.of = 2}, {.of = 3}};
  EXPECT_EQ((*tensors.accesses_of(turned, arguments))[0].begin, address(memory));
  // Memory that is nobody's, and memory that was given back.
  const std::uint64_t between[] = {address(memory + 150), address(memory + 8), 3, 0};
  EXPECT_FALSE(tensors.accesses_of(scale, between));
  tensors.released(memory);
  EXPECT_FALSE(tensors.accesses_of(scale, arguments));
}

}  // namespace
}  // namespace kiln::vulkan::test
