// Where tensors get their memory from. A host keeps a caching pool (pooled_memory.cpp), other targets and builds
// with a sanitizer, which wants to see every allocation, go to the system each time (plain_memory.cpp).
#pragma once
#include "kiln/backend/memory/purpose.hpp"

namespace kiln::cpu {

/// `bytes` or more of uninitialised memory; null where the limit or the system does not allow it. From any thread.
std::byte* acquire(std::size_t bytes, const Purpose& purpose);
/// Takes back what acquire(bytes) gave for `use`. From any thread.
void give_back(std::byte* block, std::size_t bytes, MemoryUse use);

MemoryStatistics memory_statistics();
/// "12.5 MiB are in use ...; the largest: 3 results float32 [1024, 1024] (12 MiB), ...": for who found no more.
std::string memory_report();
void set_memory_limit(std::size_t bytes);
void reset_memory_peak();
/// Gives unused memory back to the system.
void release_memory();

}  // namespace kiln::cpu
