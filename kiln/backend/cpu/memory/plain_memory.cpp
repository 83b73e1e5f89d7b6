#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "kiln/backend/cpu/memory/memory_limit.hpp"
#include "kiln/backend/memory/ledger.hpp"

namespace kiln::cpu {
namespace {

/// Waits by turning: portable builds have no mutex, and it is never held for long.
class Locked {
 public:
  Locked() {
    while (busy.test_and_set(std::memory_order_acquire)) {}
  }
  ~Locked() { busy.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  inline static std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

struct Books {
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
  auto& [ledger, limit, poisoned] = books();
  {
    const Locked lock;
    if (bytes > limit || ledger.in_use() > limit - bytes) return nullptr;
  }
  void* memory = ::operator new(bytes ? bytes : 1, std::align_val_t{kAlignment}, std::nothrow);
  auto* block = static_cast<std::byte*>(memory);
  if (!block) return nullptr;
  if (poisoned) std::memset(block, 0xff, bytes);
  const Locked lock;
  ledger.ask_system();
  ledger.hand_out(block, bytes, purpose);
  return block;
}

void give_back(std::byte* block, std::size_t bytes, MemoryUse use) {
  {
    const Locked lock;
    books().ledger.take_back(block, bytes, use);
  }
  ::operator delete(block, std::align_val_t{kAlignment});
}

MemoryStatistics memory_statistics() {
  const auto& [ledger, limit, poisoned] = books();
  const Locked lock;
  return ledger.statistics(ledger.in_use(), limit);
}

std::string memory_report() {
  const auto& [ledger, limit, poisoned] = books();
  const Locked lock;
  return ledger.report(ledger.in_use(), limit);
}

void set_memory_limit(std::size_t bytes) {
  Books& all = books();
  const Locked lock;
  all.limit = bytes;
}

void reset_memory_peak() {
  Books& all = books();
  const Locked lock;
  all.ledger.reset_peak();
}

void release_memory() {}

}  // namespace kiln::cpu
