#include <algorithm>
#include <cstring>
#include <new>

#include "kiln/backend/cpu/memory/memory_limit.hpp"
#include "kiln/backend/memory/accounting.hpp"
#include "kiln/backend/memory/memory_options.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/mutex.hpp"

namespace kiln::cpu {
namespace {

struct PlainMemoryAccounts {
  Mutex mutex;
  MemoryAccounting accounting;
  std::size_t limit = memory_limit_at_start();
  bool poisoned = memory_is_poisoned();
};

// Never destroyed: tensors in static variables outlive everything else.
PlainMemoryAccounts& accounts() {
  static PlainMemoryAccounts& accounts = *new PlainMemoryAccounts;
  return accounts;
}

}  // namespace

std::byte* acquire(std::size_t bytes, const Purpose& purpose) {
  auto& [mutex, accounting, limit, poisoned] = accounts();
  {
    const std::lock_guard lock(mutex);
    if (bytes > limit || accounting.in_use() > limit - bytes) return nullptr;
  }
  void* memory = ::operator new(bytes ? bytes : 1, std::align_val_t{kAlignment}, std::nothrow);
  auto* block = static_cast<std::byte*>(memory);
  if (!block) return nullptr;
  if (poisoned) std::memset(block, 0xff, bytes);
  const std::lock_guard lock(mutex);
  accounting.count_system_request();
  accounting.record_acquire(block, bytes, purpose);
  return block;
}

void free_block(std::byte* block, std::size_t bytes, MemoryUse use) {
  PlainMemoryAccounts& all = accounts();
  {
    const std::lock_guard lock(all.mutex);
    all.accounting.record_release(block, bytes, use);
  }
  ::operator delete(block, std::align_val_t{kAlignment});
}

MemoryStatistics memory_statistics() {
  auto& [mutex, accounting, limit, poisoned] = accounts();
  const std::lock_guard lock(mutex);
  return accounting.statistics(accounting.in_use(), limit);
}

std::string memory_report() {
  auto& [mutex, accounting, limit, poisoned] = accounts();
  const std::lock_guard lock(mutex);
  return accounting.report(accounting.in_use(), limit);
}

void set_memory_limit(std::size_t bytes) {
  PlainMemoryAccounts& all = accounts();
  const std::lock_guard lock(all.mutex);
  all.limit = bytes;
}

void reset_memory_peak() {
  PlainMemoryAccounts& all = accounts();
  const std::lock_guard lock(all.mutex);
  all.accounting.reset_peak();
}

void release_memory() {}

}  // namespace kiln::cpu

namespace kiln {

void set_memory_options(const MemoryOptions&) {
  fail<DeviceError>("memory options: this build of Kiln takes each block from the C++ library");
}

}  // namespace kiln
