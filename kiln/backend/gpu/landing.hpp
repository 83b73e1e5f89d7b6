// Landings: memory that the device and the host see, through which drivers copy to the host. One holds the bytes of one
// copy.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "kiln/ops/backend.hpp"

namespace kiln::gpu {

/// memcpy, by several threads for large blocks.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes);

/// A thread that waits on behalf of others. It starts with the first request.
class Notifier {
 public:
  Notifier();
  /// The thread ends by itself, once it has waited for all that was requested.
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  /// Calls `wait`, whose errors are told elsewhere, and then `then`: one request after the other.
  void notify(std::function<void()> wait, Wakeup then);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

/// Landings that nobody uses, by the power of two that is their size. Thread-safe.
template <class Landing>
class FreeLandings {
 public:
  /// The bytes that a new landing needs for a copy of so many.
  static std::size_t size_for(std::size_t bytes) {
    return bytes > kLargest ? bytes : std::bit_ceil(std::max(bytes, kSmallest));
  }
  /// One of size_for(bytes) bytes; null if there is none.
  std::unique_ptr<Landing> take(std::size_t bytes) {
    if (bytes > kLargest) return nullptr;
    const std::lock_guard lock(mutex_);
    const std::size_t size = size_for(bytes);
    auto& free = free_[place_of(size)];
    if (free.empty()) return nullptr;
    std::unique_ptr<Landing> landing = std::move(free.back());
    free.pop_back();
    kept_ -= size;
    return landing;
  }
  /// Keeps a landing of `size` bytes, or leaves it where it is if it is large, or many are kept.
  void give_back(std::unique_ptr<Landing>& landing, std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (size > kLargest || kept_ + size > kMost) return;
    free_[place_of(size)].push_back(std::move(landing));
    kept_ += size;
  }

 private:
  static constexpr std::size_t kSmallest = std::size_t{4} << 10, kLargest = std::size_t{64} << 20,
                               kMost = std::size_t{256} << 20;
  static std::size_t place_of(std::size_t size) { return static_cast<std::size_t>(std::countr_zero(size)); }

  std::mutex mutex_;
  std::array<std::vector<std::unique_ptr<Landing>>, 32> free_;
  std::size_t kept_ = 0;
};

}  // namespace kiln::gpu
