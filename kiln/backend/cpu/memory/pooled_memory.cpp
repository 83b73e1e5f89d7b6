#include <cstring>

#include "kiln/backend/cpu/memory/memory_limit.hpp"
#include "kiln/backend/memory/memory_pool.hpp"

namespace kiln::cpu {
namespace {

// Never destroyed: tensors in static variables outlive everything else.
MemoryPool& pool() {
  static MemoryPool& pool = *new MemoryPool(memory_limit_at_start());
  return pool;
}

}  // namespace

std::byte* acquire(std::size_t bytes, const Purpose& purpose) {
  static const bool poisoned = memory_is_poisoned();
  std::byte* const block = pool().acquire(bytes, purpose);
  if (poisoned && block) std::memset(block, 0xff, bytes);
  return block;
}
void free_block(std::byte* block, std::size_t bytes, MemoryUse use) { pool().release(block, bytes, use); }
MemoryStatistics memory_statistics() { return pool().statistics(); }
std::string memory_report() { return pool().report(); }
void set_memory_limit(std::size_t bytes) { pool().set_limit(bytes); }
void reset_memory_peak() { pool().reset_peak(); }
void release_memory() { pool().release_unused(); }

}  // namespace kiln::cpu
