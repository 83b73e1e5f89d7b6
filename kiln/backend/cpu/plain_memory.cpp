#include <atomic>
#include <cstdint>
#include <new>

#include "kiln/backend/cpu/memory.hpp"

namespace kiln::cpu {
namespace {

// What is certainly a mistake. A sanitizer's allocator ends the program where it should refuse.
constexpr std::size_t kAbsurd = SIZE_MAX > UINT32_MAX ? SIZE_MAX >> 25 : SIZE_MAX / 2;

std::atomic<std::size_t> in_use{0}, peak{0};

}  // namespace

std::byte* acquire(std::size_t bytes) {
  if (bytes > kAbsurd) return nullptr;
  void* block = ::operator new(bytes ? bytes : 1, std::align_val_t{kAlignment}, std::nothrow);
  if (!block) return nullptr;
  const std::size_t now = in_use.fetch_add(bytes) + bytes;
  for (std::size_t highest = peak; now > highest && !peak.compare_exchange_weak(highest, now);) {}
  return static_cast<std::byte*>(block);
}

void give_back(std::byte* block, std::size_t bytes) {
  in_use.fetch_sub(bytes);
  ::operator delete(block, std::align_val_t{kAlignment});
}

MemoryStatistics memory_statistics() {
  const auto used = static_cast<std::int64_t>(in_use.load());
  return {.in_use = used, .reserved = used, .peak = static_cast<std::int64_t>(peak.load())};
}

}  // namespace kiln::cpu
