// Spinning, for a thread that waits for another one that will be ready very soon.
#pragma once
#include <chrono>
#include <thread>

namespace kiln {

/// One wait of a thread. It keeps its core for 20 us; after that it yields to other threads at each look: one of them
/// may be the one it waits for.
class Wait {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kSpinTime = std::chrono::milliseconds(1);
  static constexpr auto kOwnCoreTime = std::chrono::microseconds(20);

  /// Called between two looks. Returns false after kSpinTime.
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
  /// Whether the wait has lasted for kOwnCoreTime.
  bool yields() const { return yields_; }

  /// Lets the core's other hardware thread run for a moment.
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
