#include "kiln/core/spare_memory.hpp"

#include <array>
#include <new>
#include <utility>

namespace kiln {
namespace {

constexpr std::size_t kStep = 64, kLargest = 4096;  // bytes; larger blocks go to the C library
#if defined(__SANITIZE_ADDRESS__)
constexpr int kMost = 0;  // so that the sanitizer sees uses after a block was returned
#else
constexpr int kMost = 4096;  // blocks of one size
#endif

struct Spare {
  Spare* next;
};

/// Blocks of one size that are not in use.
struct Spares {
  ~Spares() {
    while (Spare* const spare = std::exchange(first, first ? first->next : nullptr)) ::operator delete(spare);
    count = kMost;  // blocks that are returned after their thread ended are not kept
  }

  Spare* first = nullptr;
  int count = 0;
};
thread_local std::array<Spares, kLargest / kStep> all_spares;

Spares& spares_of(std::size_t bytes) { return all_spares[(bytes - 1) / kStep]; }

}  // namespace

void* cached_allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > kLargest) return ::operator new(bytes);
  Spares& spares = spares_of(bytes);
  if (!spares.first) return ::operator new((bytes + kStep - 1) / kStep * kStep);
  --spares.count;
  return std::exchange(spares.first, spares.first->next);
}

void cached_free(void* memory, std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > kLargest) return ::operator delete(memory);
  Spares& spares = spares_of(bytes);
  if (spares.count >= kMost) return ::operator delete(memory);
  ++spares.count;
  spares.first = new (memory) Spare{spares.first};
}

}  // namespace kiln
