// A lock for sections of some ten nanoseconds that many threads enter at once.
#pragma once
#include <atomic>

#include "kiln/core/threads/wait.hpp"

namespace kiln {

/// Works with std::lock_guard. A thread that finds the lock taken spins (see Wait): std::mutex would put such threads
/// to sleep one by one, and waking them takes a thousand times as long as they have to wait.
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
