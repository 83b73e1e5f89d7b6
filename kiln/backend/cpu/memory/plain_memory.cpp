#include <algorithm>
#include <cstring>
#include <new>

#include "kiln/backend/cpu/memory/memory_limit.hpp"
#include "kiln/backend/memory/ledger.hpp"
#include "kiln/core/mutex.hpp"

namespace kiln::cpu {
namespace {

struct Books {
  Mutex mutex;
  Ledger ledger;
  std::size_t limit = memory_limit_at_start();
  bool poisoned = memory_is_poisoned();
};

// Never destroyed: tensors in static variables outlive everything else.
Books& books() {
  static Books& books = *new Books;
  return books;
}

}  // namespace

std::byte* acquire(std::size_t bytes, const Purpose& purpose) {
  auto& [mutex, ledger, limit, poisoned] = books();
  {
    const std::lock_guard lock(mutex);
    if (bytes > limit || ledger.in_use() > limit - bytes) return nullptr;
  }
  void* memory = ::operator new(bytes ? bytes : 1, std::align_val_t{kAlignment}, std::nothrow);
  auto* block = static_cast<std::byte*>(memory);
  if (!block) return nullptr;
  if (poisoned) std::memset(block, 0xff, bytes);
  const std::lock_guard lock(mutex);
  ledger.ask_system();
  ledger.hand_out(block, bytes, purpose);
  return block;
}

void give_back(std::byte* block, std::size_t bytes, MemoryUse use) {
  Books& all = books();
  {
    const std::lock_guard lock(all.mutex);
    all.ledger.take_back(block, bytes, use);
  }
  ::operator delete(block, std::align_val_t{kAlignment});
}

MemoryStatistics memory_statistics() {
  auto& [mutex, ledger, limit, poisoned] = books();
  const std::lock_guard lock(mutex);
  return ledger.statistics(ledger.in_use(), limit);
}

std::string memory_report() {
  auto& [mutex, ledger, limit, poisoned] = books();
  const std::lock_guard lock(mutex);
  return ledger.report(ledger.in_use(), limit);
}

void set_memory_limit(std::size_t bytes) {
  Books& all = books();
  const std::lock_guard lock(all.mutex);
  all.limit = bytes;
}

void reset_memory_peak() {
  Books& all = books();
  const std::lock_guard lock(all.mutex);
  all.ledger.reset_peak();
}

void release_memory() {}

}  // namespace kiln::cpu
