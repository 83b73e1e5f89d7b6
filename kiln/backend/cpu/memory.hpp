// Where tensors get their memory from. A host keeps a caching pool (pooled_memory.cpp), other targets and builds
// with a sanitizer, which wants to see every allocation, go to the system each time (plain_memory.cpp).
#pragma once
#include "kiln/ops/backend.hpp"

namespace kiln::cpu {

/// Every block starts at a multiple of this: a cache line, and the widest SIMD vector.
inline constexpr std::size_t kAlignment = 64;

/// `bytes` or more of uninitialised memory; null where the system has no more. From any thread.
std::byte* acquire(std::size_t bytes);
/// Takes back what acquire(bytes) gave. From any thread.
void give_back(std::byte* block, std::size_t bytes);
MemoryStatistics memory_statistics();

}  // namespace kiln::cpu
