// Memory for small objects that are created and destroyed by the thousand in every training step. Each thread keeps its
// freed blocks for new objects of the same size: far more of them than the C library keeps, and without its locks.
#pragma once
#include <cstddef>
#include <vector>

namespace kiln {

void* cached_allocate(std::size_t bytes);
/// Returns a block; `bytes` must be the number that it was taken with.
void cached_free(void* memory, std::size_t bytes) noexcept;

/// The allocator of containers whose blocks are small.
template <class T>
struct SpareAllocator {
  using value_type = T;
  SpareAllocator() = default;
  template <class U>
  SpareAllocator(const SpareAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(cached_allocate(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { cached_free(memory, count * sizeof(T)); }
  friend bool operator==(SpareAllocator, SpareAllocator) { return true; }
};

template <class T>
using SpareVector = std::vector<T, SpareAllocator<T>>;

}  // namespace kiln
