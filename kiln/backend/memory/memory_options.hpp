// How the processor's tensors get their memory.
//
//   set_memory_options({.strategy = MemoryStrategy::Arena, .bytes = std::size_t{4} << 30});   // before the first tensor
//
// `source` may be a BlockSource of one's own (block_source.hpp): memory of a file, of huge pages, of a NUMA node
// (examples/own_memory).
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/backend/memory/block_source.hpp"

namespace kiln {

enum class MemoryStrategy : std::uint8_t {
  Pool,   // keeps what comes back for the next request: fast, and holds somewhat more than is in use
  Exact,  // asks the source for each block, in pages of 4 KiB, and gives it back: holds what is in use, and is slow
  Arena,  // asks the source once, when the first tensor is made: nothing else is ever requested or given back
};

struct MemoryOptions {
  MemoryStrategy strategy = MemoryStrategy::Pool;
  std::size_t bytes = 0;          // of an Arena; otherwise 0
  BlockSource* source = nullptr;  // null: the system's pages. It must live until the program ends
};

/// Sets how the device "cpu" gets its memory. Throws ArgumentError if its memory was used before, for an Arena without
/// bytes, or bytes without an Arena; DeviceError in a build whose tensors take each block from the C++ library (under a
/// sanitizer, without an operating system). A GPU has a pool over its driver's memory, whose blocks are reused in the order of
/// the program, and no other strategy.
void set_memory_options(const MemoryOptions& options);

}  // namespace kiln
