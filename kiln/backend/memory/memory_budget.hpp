// MemoryBudget: how much of a device's memory all that take from it may hold together.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kiln {

/// Its users take a share before they ask the device for memory, and give it back after they have returned the memory.
/// Thread-safe; no call waits.
class MemoryBudget {
 public:
  /// False, and nothing is taken, where the limit leaves no room for so many bytes.
  bool take(std::size_t bytes) {
    const std::size_t limit = limit_.load(std::memory_order_acquire);
    for (std::size_t held = held_.load(std::memory_order_acquire); bytes <= limit && held <= limit - bytes;)
      if (held_.compare_exchange_weak(held, held + bytes, std::memory_order_acq_rel)) return true;
    return false;
  }
  void give_back(std::size_t bytes) {
    held_.fetch_sub(bytes, std::memory_order_acq_rel);
    returns_.fetch_add(1, std::memory_order_acq_rel);
  }
  /// Gives back a share for which the device had no memory: that makes no room for anybody, and is no return.
  void cancel(std::size_t bytes) { held_.fetch_sub(bytes, std::memory_order_acq_rel); }
  void set_limit(std::size_t bytes) {
    limit_.store(bytes, std::memory_order_release);
    returns_.fetch_add(1, std::memory_order_acq_rel);  // it may leave more room
  }
  std::size_t held() const { return held_.load(std::memory_order_acquire); }
  /// Counts the times that something was given back, or the limit was set: where it has changed since a refusal, there may
  /// be room now.
  std::uint64_t returns() const { return returns_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::size_t> limit_{std::numeric_limits<std::size_t>::max()}, held_{0};
  std::atomic<std::uint64_t> returns_{0};
};

}  // namespace kiln
