// Pace says how long whoever sends has to wait, so that a rate is kept. What was not sent in time is not made up for.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>

namespace kiln::remote {

class Pace {
  using Clock = std::chrono::steady_clock;

 public:
  /// A rate of 0 is no limit.
  explicit Pace(double bytes_per_second) : rate_(bytes_per_second) {}

  /// Returns when the next message may come, after one of so many bytes that has come now.
  Clock::time_point next(std::size_t bytes, Clock::time_point now) {
    if (rate_ <= 0) return now;
    const std::chrono::duration<double> takes(std::min(static_cast<double>(bytes) / rate_, 1e8));
    free_ = std::max(free_, now) + std::chrono::duration_cast<Clock::duration>(takes);
    return free_;
  }

 private:
  const double rate_;
  Clock::time_point free_{};
};

}  // namespace kiln::remote
