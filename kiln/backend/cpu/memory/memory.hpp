// The allocator of tensors. A host has a caching pool (pooled_memory.cpp). Other targets, and builds with a sanitizer,
// which has to see every allocation, ask the system each time (plain_memory.cpp).
#pragma once
#include "kiln/backend/memory/purpose.hpp"

namespace kiln::cpu {

/// Returns `bytes` or more of uninitialised memory; null where limit or system do not allow it. From any thread.
std::byte* acquire(std::size_t bytes, const Purpose& purpose);
/// Takes back what acquire(bytes) returned for `use`. From any thread.
void free_block(std::byte* block, std::size_t bytes, MemoryUse use);

MemoryStatistics memory_statistics();
/// Returns "12.5 MiB are in use ...; the largest: 3 results float32 [1024, 1024] (12 MiB), ...", for errors of memory.
std::string memory_report();
void set_memory_limit(std::size_t bytes);
void reset_memory_peak();
/// Gives unused memory back to the system.
void release_memory();

}  // namespace kiln::cpu
