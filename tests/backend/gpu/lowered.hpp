// The rules of lowering (kiln/backend/gpu/kernel/lower), each on its own and all of them, and how tests run what they
// make of a kernel.
#pragma once
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/backend/gpu/kernel/interpret.hpp"
#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu {

/// A device that has 32-bit types alone, updates integers alone, moves 8 bytes at once, binds buffers at multiples of 256
/// bytes, proves barriers, and has no lanes.
inline Capabilities poor_device() {
  const Types words{DType::F32, DType::I32, DType::U32};
  return {.computes = words | Types{DType::Bool},
          .loads = words,
          .stores = words,
          .shares = words,
          .updates = {DType::I32, DType::U32},
          .updates_shared = {DType::I32, DType::U32},
          .numbers = words,
          .widest = 8,
          .lanes = {0, 0},
          .proves_barriers = true,
          .addressing = Addressing::Bindings,
          .binding_alignment = 256,
          .most_blocks = {65535, 65535, 65535}};
}

struct LoweringRule {
  std::string_view name;
  Kernel (*apply)(const Kernel&);
};

inline constexpr Types kPacked{DType::F16, DType::BF16, DType::I16, DType::I8, DType::U16, DType::U8, DType::Bool};

inline constexpr LoweringRule kLoweringRules[] = {
    {"offsets", &lower::with_offsets},
    {"spare_blocks", &lower::with_spare_blocks},
    {"uniform_block", &lower::with_uniform_block},
    {"expanded_trees", &lower::with_expanded_trees},
    {"pairs",
     [](const Kernel& kernel) {
       return lower::with_pairs(lower::with_expanded_trees(lower::with_uniform_block(kernel)));
     }},
    {"packed_elements",
     [](const Kernel& kernel) { return lower::with_packed_elements(lower::with_offsets(kernel), kPacked); }},
    {"wide_shared", [](const Kernel& kernel) { return lower::with_wide_shared(kernel, kPacked); }},
    {"shared_shuffles", &lower::with_shared_shuffles},
    {"updated_words", [](const Kernel& kernel) { return lower::with_updated_words(kernel, true, true); }},
    {"narrow_accesses", [](const Kernel& kernel) { return lower::with_narrow_accesses(kernel, 4); }},
    {"common_conditions", &lower::with_common_conditions},
    {"all_rules", [](const Kernel& kernel) { return lowered(kernel, poor_device()); }},
};

/// Blocks that a grid's last row has too many.
inline constexpr std::int64_t kSpareBlocks = 3;

inline bool has_spare_blocks(const Kernel& kernel) {
  const auto is_count = [](const Origin& each) { return each.kind == Origin::Kind::Blocks; };
  return std::ranges::any_of(kernel.origins, is_count) || std::ranges::any_of(kernel.uniform, is_count);
}

/// Runs a lowered kernel with the arguments of the kernel that it was; `extent_of` tells which memory around an address
/// may be touched.
inline void interpret_lowered(const Kernel& kernel, std::int64_t blocks, std::span<const std::uint64_t> arguments,
                              FunctionRef<Extent(std::uint64_t)> extent_of) {
  LoweredArguments made =
      lowered_arguments(kernel, blocks, arguments, [&](std::uint64_t address) { return extent_of(address).begin; });
  std::vector<Extent> extents;
  const std::vector<std::size_t> words = kernel.words();
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    for (std::size_t at = words[i]; at < words[i + 1]; ++at) {
      if (kernel.parameters[i].uniform) {
        made.arguments[at] = reinterpret_cast<std::uintptr_t>(made.uniform.data());
        extents.push_back({made.arguments[at], made.arguments[at] + 4 * made.uniform.size()});
      } else {
        const bool number = kernel.parameters[i].kind == Parameter::Kind::Number;
        extents.push_back(number ? Extent{} : extent_of(made.arguments[at]));
      }
    }
  interpret(kernel, blocks + (has_spare_blocks(kernel) ? kSpareBlocks : 0), made.arguments, extents);
}

}  // namespace kiln::gpu
