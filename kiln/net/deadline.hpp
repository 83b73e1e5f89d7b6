// Deadline is the moment at which a wait ends.
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
  /// Returns a deadline that does not come (in three years).
  static Deadline never() { return Deadline(1e8); }

  static Deadline earlier(const Deadline& a, const Deadline& b) { return a.end_ < b.end_ ? a : b; }
  void postpone(double seconds) {
    end_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e8)));
  }

  bool is_over() const { return Clock::now() >= end_; }
  double seconds_left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }
  /// Returns the timeout for poll(), at most a minute: whoever polls asks is_over() afterwards.
  int milliseconds() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left + 1, 0, 60'000));
  }

 private:
  Clock::time_point end_;
};

}  // namespace kiln::net
