// Memory for small objects that come and go by the thousand with every step of a training. Each thread keeps what its
// objects leave behind for the next ones of the same size: far more than the C library does, and without its locks.
#pragma once
#include <cstddef>
#include <vector>

namespace kiln {

void* take_spare(std::size_t bytes);
/// `bytes` as it was taken.
void give_spare(void* memory, std::size_t bytes) noexcept;

/// For containers whose blocks are small.
template <class T>
struct SpareAllocator {
  using value_type = T;
  SpareAllocator() = default;
  template <class U>
  SpareAllocator(const SpareAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(take_spare(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { give_spare(memory, count * sizeof(T)); }
  friend bool operator==(SpareAllocator, SpareAllocator) { return true; }
};

template <class T>
using SpareVector = std::vector<T, SpareAllocator<T>>;

}  // namespace kiln
