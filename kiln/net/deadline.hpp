// The moment at which a wait ends.
#pragma once
#include <algorithm>
#include <chrono>

namespace kiln::net {

class Deadline {
  using Clock = std::chrono::steady_clock;

 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e8)))) {}
  /// A deadline that does not come (in three years).
  static Deadline never() { return Deadline(1e8); }

  bool is_over() const { return Clock::now() >= end_; }
  double seconds_left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }
  /// The timeout for poll(), at most a minute: whoever polls asks is_over() afterwards.
  int milliseconds() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left + 1, 0, 60'000));
  }

 private:
  Clock::time_point end_;
};

}  // namespace kiln::net
