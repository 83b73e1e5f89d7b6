#include <unistd.h>

#include "kiln/backend/cpu/memory_pool.hpp"

namespace kiln::cpu {
namespace {

std::size_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size) : SIZE_MAX;
}

// Never destroyed: tensors in static variables outlive everything else.
MemoryPool& pool() {
  static MemoryPool& pool = *new MemoryPool(physical_memory());
  return pool;
}

}  // namespace

std::byte* acquire(std::size_t bytes) { return pool().acquire(bytes); }
void give_back(std::byte* block, std::size_t bytes) { pool().give_back(block, bytes); }
MemoryStatistics memory_statistics() { return pool().statistics(); }

}  // namespace kiln::cpu
