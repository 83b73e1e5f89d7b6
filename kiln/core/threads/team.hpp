// Threads that run one parallel_for after the other: workers that spin for a millisecond after their last job, then
// sleep.
//
// Each thread owns a contiguous range of the pieces. Jobs over the same number of elements give it the same range each
// time, which keeps its caches warm, also where there are fewer pieces than threads. A thread that finishes takes
// pieces from the far end of other ranges: from threads that are busy, from threads that sleep (waking one takes tens
// of microseconds, longer than most jobs), and from awake threads that have not come in time; these are waited for
// once, until they are back.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "kiln/core/parallel.hpp"

namespace kiln {

/// Whether this thread is inside a parallel_for.
inline thread_local bool inside_parallel_for = false;

/// A parallel_for that is running. Exceptions are as in a serial loop: the one of the lowest piece is thrown, and the
/// pieces after it need not run.
struct Job {
  std::int64_t count, grain;
  ChunkBody body;
  std::atomic<std::int64_t> failed_chunk = std::numeric_limits<std::int64_t>::max();
  std::mutex failure_mutex = {};
  std::exception_ptr failure = nullptr;

  void run(std::int64_t chunk);
};

/// The pieces of one thread that have not been taken: the owner takes from the front, other threads from the back.
class alignas(64) ChunkRange {
 public:
  void fill(std::int64_t first, std::int64_t last) { ends_.store(pack(first, last), std::memory_order_relaxed); }
  bool take_front(std::int64_t& chunk) { return take(chunk, true); }
  bool take_back(std::int64_t& chunk) { return take(chunk, false); }
  bool empty() const {
    const std::uint64_t ends = ends_.load(std::memory_order_relaxed);
    return first_of(ends) == last_of(ends);
  }

  /// The ends of a range are 32-bit numbers.
  static constexpr std::int64_t kMaxChunks = std::numeric_limits<std::uint32_t>::max();

 private:
  static std::uint64_t pack(std::int64_t first, std::int64_t last) {
    return static_cast<std::uint64_t>(last) << 32 | static_cast<std::uint64_t>(first);
  }
  static std::int64_t first_of(std::uint64_t ends) { return static_cast<std::int64_t>(ends & 0xffffffffu); }
  static std::int64_t last_of(std::uint64_t ends) { return static_cast<std::int64_t>(ends >> 32); }
  bool take(std::int64_t& chunk, bool front);

  std::atomic<std::uint64_t> ends_{0};
};

/// The state of a worker, in a cache line of its own, which other threads hardly ever write.
struct alignas(64) Presence {
  // Inside: in the job. Awake: outside, looking for a job. Away: asleep, or late because the system gave its processor
  // to other threads.
  enum State : std::uint8_t { Inside, Awake, Away };
  std::atomic<State> state{Away};
};

/// The caller and its workers.
class Team {
 public:
  explicit Team(int threads);
  ~Team();

  int threads() const { return static_cast<int>(ranges_.size()); }
  /// Returns when all pieces are done. Only one caller at a time.
  void run(Job& job, std::int64_t chunks);

 private:
  void drain(std::size_t own);
  void work(std::size_t index);
  bool enter(std::size_t own, std::uint64_t& last_job);
  void sleep(Presence& own, std::uint64_t last_job);
  void wake(std::size_t wanted);

  alignas(64) std::atomic<std::uint64_t> gate_{0};
  alignas(64) std::atomic<int> sleeping_{0};
  Job* job_ = nullptr;
  std::vector<ChunkRange> ranges_;
  std::vector<Presence> presence_;
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace kiln
