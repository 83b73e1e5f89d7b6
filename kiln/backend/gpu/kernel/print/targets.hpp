// Targets: how each language says what kernels do. One printer (body.hpp) reads these tables.
#pragma once
#include "kiln/ops/expression/dialect.hpp"

namespace kiln::gpu {

/// Templates have $0, $1, ... in the places of operands.
struct Target {
  const expr::Dialect* dialect;

  // The index of the thread in its block, of the block in its grid, and the number of blocks; all int32.
  std::string_view thread, block, blocks;
  // A barrier after which the threads of a block see what the others stored, and one after which they see what the
  // others stored to shared memory; a fence for all blocks, empty: none.
  std::string_view barrier, shared_barrier, fence;
  std::string_view shuffle;  // $0: the value, $1: the lane of this thread's 32; empty: none
  // The bits of a float32 as uint32 and back, of a float64 as int64 and back; empty: the type is missing.
  std::string_view bits_of_f32, f32_of_bits, bits_of_f64, f64_of_bits;
  // Atomic updates of the element $0 with $1, in the order of Update: Add, Maximum, Minimum, And, Or,
  // Exchange, CompareAndSwap (expects $2); empty: none. $t is the element's type, $s its address space.
  std::string_view updates[7];
  // A statement that exchanges $0 for $1 where it is $2, and leaves the old value in $3, in a language whose own
  // comparing exchange may fail for no reason; empty: `updates` has one.
  std::string_view weak_exchange;
  std::string_view unrolled, rolled;  // before a loop
  std::string_view single;            // the end of the names of C's functions on float32
  bool has_pointers;                  // packs of elements are loaded and stored at once, and tables are parameters
  bool has_references = false;  // buffers are addresses among the arguments (GLSL's buffer references); tables too
  bool has_words = false;       // addresses are computed as pairs of words of 32 bits: there are no integers of 64

  std::string_view name() const { return dialect->name; }
};

extern const Target kCudaTarget, kHipTarget, kGlslTarget, kWgslTarget, kMetalTarget;
/// GLSL for Vulkan's devices with Addressing::Addresses; kGlslTarget is for those that bind buffers.
extern const Target kVulkanTarget;
/// kVulkanTarget for devices whose float16 is expr::kGlslHalves's.
extern const Target kVulkanHalvesTarget;
/// kVulkanTarget for devices without integers of 64 bits.
extern const Target kVulkanWordsTarget;

}  // namespace kiln::gpu
