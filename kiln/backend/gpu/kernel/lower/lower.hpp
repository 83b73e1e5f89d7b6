// Lowering: a kernel for a device that lacks some of what kernels may use is another kernel, made by rules (rules.hpp).
// Its meaning is the same, bit for bit.
#pragma once
#include <span>

#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::gpu {

/// Rewrites what the device lacks, where there is a rule. Throws DeviceError, with the kernel's name and the reason,
/// where a rule does not know how; what no rule is about stays.
Kernel lowered(Kernel kernel, const Capabilities& device);

/// What a launch of a lowered kernel passes.
struct LoweredArguments {
  std::vector<std::uint64_t> arguments;  // by Kernel::words(); the uniform block's is 0
  std::vector<std::uint32_t> uniform;    // its words
};

/// The parameters of a launch that lie in one piece of memory: by parameter, the first of those that it shares one
/// with, which may be itself; numbers and uniform blocks are always by themselves. `memory_of` returns the same number
/// for all addresses in a piece of memory. Where devices bind each piece once (Capabilities::separate_bindings), a
/// launch runs with_shared_bindings(kernel, sharers), whose buffers keep offsets of their own; its arguments are made
/// like those of the kernel.
std::vector<std::uint16_t> sharers_of(const Kernel& kernel, std::span<const std::uint64_t> arguments,
                                      FunctionRef<std::uint64_t(std::uint64_t address)> memory_of);
/// Are there any?
bool are_shared(std::span<const std::uint16_t> sharers);
/// Throws DeviceError where two types update one piece of memory in a way that is no matter of bits.
Kernel with_shared_bindings(const Kernel& kernel, std::span<const std::uint16_t> sharers);

/// Makes the arguments of a lowered kernel from those of the kernel that it was. `base_of` returns the last address up
/// to a given one that the device can bind, and from which on the kernel may touch its memory.
LoweredArguments lowered_arguments(const Kernel& kernel, std::int64_t blocks, std::span<const std::uint64_t> arguments,
                                   FunctionRef<std::uint64_t(std::uint64_t address)> base_of);

}  // namespace kiln::gpu
