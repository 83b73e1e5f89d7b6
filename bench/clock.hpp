// What time it is, for programs that measure.
#pragma once
#include <ctime>

namespace bench {

inline double seconds_on(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
/// The processor time of all threads of this process.
inline double process_seconds() { return seconds_on(CLOCK_PROCESS_CPUTIME_ID); }
inline double wall_seconds() { return seconds_on(CLOCK_MONOTONIC); }

}  // namespace bench
