#include "kiln/backend/gpu/kernel/lower/lower.hpp"

#include <map>

#include "kiln/backend/gpu/kernel/lower/rules.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu {
namespace {

constexpr Types kWide{DType::I64, DType::U64},
    kNarrow{DType::F16, DType::BF16, DType::I16, DType::I8, DType::U16, DType::U8, DType::Bool};

constexpr bool has_all(Types types, Types of) { return (of - types).empty(); }
constexpr Types both(Types a, Types b) { return a - (a - b); }

/// Are float32 missing among what is updated, which words could stand in for?
constexpr bool lacks_sums(Types updates) { return !updates.has(DType::F32) && updates.has(DType::U32); }

}  // namespace

Kernel lowered(Kernel kernel, const Capabilities& device) {
  using namespace lower;
  const bool pairs = !has_all(both(device.computes, both(device.loads, device.stores)), kWide);
  const Types packed = kNarrow - both(device.loads, device.stores), shared = kNarrow - device.shares;
  if (device.binding_alignment > 1 || !packed.empty()) kernel = with_offsets(kernel);
  if (device.most_blocks[0] < INT32_MAX) kernel = with_spare_blocks(kernel);
  if (pairs || !has_all(device.numbers, kWide) || kernel.number_bytes() > device.direct_number_bytes)
    kernel = with_uniform_block(kernel);
  if (pairs) kernel = with_pairs(with_expanded_trees(kernel));
  if (!packed.empty()) kernel = with_packed_elements(kernel, packed);
  if (!shared.empty()) kernel = with_wide_shared(kernel, shared);
  const bool buffers = lacks_sums(device.updates), arrays = lacks_sums(device.updates_shared);
  if (buffers || arrays) kernel = with_updated_words(kernel, buffers, arrays);
  if (device.widest < 16) kernel = with_narrow_accesses(kernel, device.widest);
  if (!device.shuffles_among(kLanes)) kernel = with_shared_shuffles(kernel);
  if (device.proves_barriers) kernel = with_common_conditions(kernel);
  return kernel;
}

LoweredArguments lowered_arguments(const Kernel& kernel, std::int64_t blocks, std::span<const std::uint64_t> arguments,
                                   FunctionRef<std::uint64_t(std::uint64_t address)> base_of) {
  LoweredArguments made;
  if (kernel.origins.empty()) {
    made.arguments.assign(arguments.begin(), arguments.end());
    return made;
  }
  // The first address of each group.
  std::map<std::uint16_t, std::uint64_t> least;
  for (const std::vector<Origin>* const list : {&kernel.origins, &kernel.uniform})
    for (const Origin& origin : *list)
      if (origin.group && origin.of < arguments.size()) {
        std::uint64_t& first = least.try_emplace(origin.group, arguments[origin.of]).first->second;
        first = std::min(first, arguments[origin.of]);
      }
  const auto value_of = [&](const Origin& origin) -> std::uint64_t {
    using enum Origin::Kind;
    if (origin.kind == Blocks) return static_cast<std::uint64_t>(blocks);
    if (origin.kind == Uniform) return 0;
    require<DeviceError>(origin.of < arguments.size(), "kernel ", kernel.name, ": is given ", arguments.size(),
                         " arguments, of which it needs number ", origin.of);
    const std::uint64_t given = arguments[origin.of];
    if (origin.kind == Argument) return given;
    const std::uint64_t base = base_of(origin.group ? least.at(origin.group) : given);
    if (origin.kind == Base) return base;
    const std::uint64_t bytes = given - base;
    require<DeviceError>(bytes % origin.size == 0 && bytes / origin.size <= INT32_MAX, "kernel ", kernel.name,
                         ": a buffer begins ", bytes,
                         " bytes behind what can be bound, which is no int32 of elements of ", origin.size);
    return bytes / origin.size;
  };
  for (const Origin& origin : kernel.origins) made.arguments.push_back(value_of(origin));
  for (const Origin& origin : kernel.uniform) {
    const std::uint64_t value = value_of(origin);
    made.uniform.push_back(static_cast<std::uint32_t>(value));
    if (origin.words == 2) made.uniform.push_back(static_cast<std::uint32_t>(value >> 32));
  }
  return made;
}

}  // namespace kiln::gpu
