// Matrices that warps hold, in SPIR-V: the words that glslang makes, and what drivers of VK_KHR_cooperative_matrix get.
#include "kiln/backend/vulkan/matrices.hpp"

#include <algorithm>

#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/backend/vulkan/glsl.hpp"
#include "tests/backend/vulkan/machine.hpp"

namespace kiln::vulkan::test {
namespace {

gpu::Kernel product(DType half) {
  const gpu::Fragment shape{16, 16, 16, half, DType::F32};
  gpu::Builder k("product", gpu::kLanes);
  const gpu::Buffer x = k.input(half), y = k.output(DType::F32);
  const gpu::Shared left = k.shared(half, 256), right = k.shared(half, 256), sums = k.shared(DType::F32, 256);
  k.unrolled(8, [&](const gpu::Expr& i) {
    const gpu::Expr at = i * gpu::kLanes + k.thread();
    left.store(at, x[at]);
    right.store(at, x[at + 256]);
  });
  k.barrier();
  using Use = gpu::Matrix::Use;
  const gpu::Matrix a = k.matrix(Use::Left, shape), b = k.matrix(Use::Right, shape), c = k.matrix(Use::Sums, shape);
  const gpu::Expr zero = k.literal(DType::I32, 0);
  c.clear();
  a.load(left, zero, 16, false);
  b.load(right, zero, 16, true);
  c.add_product(a, b);
  c.scale(c);
  c.store(sums, zero, 16);
  k.barrier();
  k.unrolled(8, [&](const gpu::Expr& i) {
    const gpu::Expr at = i * gpu::kLanes + k.thread();
    y.store(at, sums[at]);
  });
  return k.finish();
}

using Instruction = std::vector<std::uint32_t>;  // the opcode, then operands

std::vector<Instruction> instructions_of(std::span<const std::uint32_t> module) {
  std::vector<Instruction> all;
  for (std::size_t at = 5; at < module.size(); at += module[at] >> 16) {
    Instruction& made = all.emplace_back();
    made.push_back(module[at] & 0xffff);
    for (std::size_t i = 1; i < module[at] >> 16; ++i) made.push_back(module[at + i]);
  }
  return all;
}

std::vector<Instruction> of(const std::vector<Instruction>& all, std::uint32_t opcode) {
  std::vector<Instruction> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const Instruction& each) { return each[0] == opcode; });
  return found;
}

/// The value of a constant, and the index at which it is defined.
std::pair<std::uint32_t, std::size_t> constant(const std::vector<Instruction>& all, std::uint32_t id) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((all[i][0] == 43 || all[i][0] == 50) && all[i][2] == id) return {all[i][3], i};
  ADD_FAILURE() << "no constant " << id;
  return {};
}

TEST(VulkanMatrices, AreRewrittenForTheExtensionOfAllMakers) {
  for (const DType half : {DType::F16, DType::BF16}) {
    const std::vector<std::uint32_t> module = spirv_of("product", gpu::print(product(half), gpu::kVulkanTarget).text);
    const std::vector<Instruction> all = instructions_of(module);
    for (const std::uint32_t nvidia : {5358u, 5359u, 5360u, 5361u}) EXPECT_TRUE(of(all, nvidia).empty()) << nvidia;

    // Types: of factors and sums, which say their use; constants stand before them.
    const std::vector<Instruction> types = of(all, 4456);
    ASSERT_EQ(types.size(), 3u);
    std::vector<std::uint32_t> uses;
    const auto opcode = [](const Instruction& each) { return each[0]; };
    const auto first = static_cast<std::size_t>(std::ranges::find(all, 4456u, opcode) - all.begin());
    for (const Instruction& type : types) {
      EXPECT_EQ(constant(all, type[4]).first, 16u);
      EXPECT_EQ(constant(all, type[5]).first, 16u);
      const auto [use, at] = constant(all, type[6]);
      EXPECT_LT(at, first);
      uses.push_back(use);
      const std::vector<Instruction> floats = of(all, 22);
      const auto component = std::ranges::find(floats, type[2], [](const Instruction& each) { return each[1]; });
      ASSERT_NE(component, floats.end());
      EXPECT_EQ((*component)[2], use == 2 ? 32u : 16u);
      // bfloat16 is a float of 16 bits with an encoding.
      EXPECT_EQ(component->size(), use != 2 && half == DType::BF16 ? 4u : 3u);
    }
    std::ranges::sort(uses);
    EXPECT_EQ(uses, (std::vector<std::uint32_t>{0, 1, 2}));

    const std::vector<Instruction> loads = of(all, 4457);
    ASSERT_EQ(loads.size(), 2u);
    EXPECT_EQ(constant(all, loads[0][4]).first, 0u);                                     // by rows
    EXPECT_EQ(constant(all, loads[1][4]).first, 1u);                                     // by columns
    for (const Instruction& load : loads) EXPECT_EQ(constant(all, load[5]).first, 16u);  // the stride
    EXPECT_EQ(of(all, 4458).size(), 1u);
    EXPECT_EQ(of(all, 4459).size(), 1u);
    // A product of elements, for which the text has a quotient.
    const auto is_of_matrices = [&](const Instruction& each) {
      return std::ranges::find(types, each[1], [](const Instruction& type) { return type[1]; }) != types.end();
    };
    EXPECT_EQ(std::ranges::count_if(of(all, 133), is_of_matrices), 1);
    EXPECT_EQ(std::ranges::count_if(of(all, 136), is_of_matrices), 0);

    const auto has_capability = [&](std::uint32_t number) {
      return std::ranges::find(all, Instruction{17, number}) != all.end();
    };
    EXPECT_TRUE(has_capability(6022));
    EXPECT_FALSE(has_capability(5357));
    EXPECT_EQ(has_capability(5116) && has_capability(5118), half == DType::BF16);
    // Every id is below the bound, and made once.
    std::vector<std::uint32_t> made;
    for (const Instruction& each : all)
      if (each[0] == 4456 || each[0] == 22) made.push_back(each[1]);
      else if (each[0] == 43 || each[0] == 50) made.push_back(each[2]);
    for (const std::uint32_t id : made) EXPECT_LT(id, module[3]);
    std::ranges::sort(made);
    EXPECT_EQ(std::ranges::adjacent_find(made), made.end());
  }
}

TEST(VulkanMatrices, LeaveOtherModulesAlone) {
  const std::vector<std::uint32_t> module = spirv_of("scale", gpu::print(scale_kernel(), gpu::kVulkanTarget).text);
  EXPECT_EQ(with_khr_matrices(module), module);
  EXPECT_THROW((void)with_khr_matrices(std::vector<std::uint32_t>{1, 2}), DeviceError);
  // An instruction that is longer than the module.
  std::vector<std::uint32_t> cut{0x07230203, 0x10500, 0, 9, 0, 2u << 16 | 17, 5357, 9u << 16 | 71};
  EXPECT_THROW((void)with_khr_matrices(cut), DeviceError);
  cut.back() = 71;  // of no words
  EXPECT_THROW((void)with_khr_matrices(cut), DeviceError);
}

}  // namespace
}  // namespace kiln::vulkan::test
