// A lock for what takes some ten nanoseconds, and that many threads come to at once.
#pragma once
#include <atomic>

#include "kiln/core/threads/wait.hpp"

namespace kiln {

/// For std::lock_guard. Who finds it taken looks again and again (see Wait): std::mutex would put them to sleep one by one,
/// and it takes a thousand times as long to wake them as they have to wait.
class BriefMutex {
 public:
  void lock() {
    if (!taken_.exchange(true, std::memory_order_acquire)) return;
    for (Wait wait; taken_.load(std::memory_order_relaxed) || taken_.exchange(true, std::memory_order_acquire);)
      wait.pause();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_ = false;
};

}  // namespace kiln
