#include <cstring>
#include <mutex>

#include "kiln/backend/cpu/memory/memory_limit.hpp"
#include "kiln/backend/memory/memory_pool.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::cpu {
namespace {

struct ChosenOptions {
  std::mutex mutex;
  MemoryOptions options;
  bool used = false;
};
ChosenOptions& choice() {
  static ChosenOptions& choice = *new ChosenOptions;
  return choice;
}

/// The options, which nobody may change from then on.
MemoryOptions taken_options() {
  const std::lock_guard lock(choice().mutex);
  choice().used = true;
  return choice().options;
}

// Never destroyed: tensors in static variables outlive everything else.
MemoryPool& pool() {
  static MemoryPool& pool = *new MemoryPool(memory_limit_at_start(), taken_options());
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

namespace kiln {

void set_memory_options(const MemoryOptions& options) {
  const bool is_arena = options.strategy == MemoryStrategy::Arena;
  require<ArgumentError>(!is_arena || options.bytes > 0, "memory options: an arena of 0 bytes: say how large it is");
  require<ArgumentError>(is_arena || options.bytes == 0, "memory options: bytes = ", options.bytes,
                         " are of an arena alone: a limit is set by set_memory_limit()");
  const std::lock_guard lock(cpu::choice().mutex);
  require<ArgumentError>(
      !cpu::choice().used,
      "memory options: the processor's memory is in use: set them before the first tensor, and before limits and "
      "statistics");
  cpu::choice().options = options;
}

}  // namespace kiln
