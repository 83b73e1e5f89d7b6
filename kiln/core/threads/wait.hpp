// How a thread waits for another that will be there in a moment: it looks again and again.
#pragma once
#include <chrono>
#include <thread>

namespace kiln {

/// Somebody who waits. A thread keeps its core to itself for 20 us; after that it offers it to others at each look: one
/// of them may be what it waits for.
class Wait {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kSpinTime = std::chrono::milliseconds(1);
  static constexpr auto kOwnCoreTime = std::chrono::microseconds(20);

  /// Between two looks; false: it has lasted for kSpinTime.
  bool pause() {
    if (++looks_ % 64 && !yields_) {
      relax();
      return true;
    }
    const auto lasted = Clock::now() - begin_;
    yields_ = lasted > kOwnCoreTime;
    if (yields_) std::this_thread::yield();
    return lasted < kSpinTime;
  }
  /// Has it lasted for kOwnCoreTime?
  bool yields() const { return yields_; }

  /// Leaves the core to its other thread for a moment.
  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

 private:
  const Clock::time_point begin_ = Clock::now();
  int looks_ = 0;
  bool yields_ = false;
};

}  // namespace kiln
