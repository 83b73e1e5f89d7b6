// parallel.hpp on threads: workers that spin for a millisecond after their last work, then sleep.
//
// Waking a sleeping thread takes tens of microseconds, longer than most work that is split. So the caller waits
// for nobody who has not begun: each thread owns a contiguous range of the pieces (the same range each time, which
// keeps its caches warm), and whoever finishes takes pieces from the far end of the others' ranges.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln {
namespace {

constexpr int kMostThreads = 1024;
constexpr std::int64_t kMostPieces = std::numeric_limits<std::uint32_t>::max();
constexpr auto kSpinTime = std::chrono::milliseconds(1);

thread_local bool inside_parallel_for = false;

struct Inside {
  const bool before = std::exchange(inside_parallel_for, true);
  ~Inside() { inside_parallel_for = before; }
};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The pieces of one thread that have not been taken: the owner takes from the front, others from the back.
class alignas(64) Range {
 public:
  void fill(std::int64_t first, std::int64_t last) { ends_.store(pack(first, last), std::memory_order_relaxed); }
  bool take_front(std::int64_t& piece) { return take(piece, true); }
  bool take_back(std::int64_t& piece) { return take(piece, false); }

 private:
  static std::uint64_t pack(std::int64_t first, std::int64_t last) {
    return static_cast<std::uint64_t>(last) << 32 | static_cast<std::uint64_t>(first);
  }
  bool take(std::int64_t& piece, bool front) {
    std::uint64_t ends = ends_.load(std::memory_order_relaxed);
    for (;;) {
      const auto first = static_cast<std::int64_t>(ends & 0xffffffffu), last = static_cast<std::int64_t>(ends >> 32);
      if (first == last) return false;
      piece = front ? first : last - 1;
      const std::uint64_t rest = front ? pack(first + 1, last) : pack(first, last - 1);
      if (ends_.compare_exchange_weak(ends, rest, std::memory_order_relaxed)) return true;
    }
  }

  std::atomic<std::uint64_t> ends_{0};
};

// One parallel_for under way. Exceptions are as in a serial loop: the one of the lowest piece is thrown, and what
// comes after that piece need not run.
struct Job {
  std::int64_t count, grain;
  PieceBody body;
  std::atomic<std::int64_t> failed_piece = std::numeric_limits<std::int64_t>::max();
  std::mutex failure_mutex = {};
  std::exception_ptr failure = nullptr;

  void run(std::int64_t piece) {
    if (piece > failed_piece.load(std::memory_order_relaxed)) return;
    const std::int64_t begin = piece * grain;
    try {
      body(begin, count - begin < grain ? count : begin + grain);
    } catch (...) {
      std::lock_guard lock(failure_mutex);
      if (piece > failed_piece.load(std::memory_order_relaxed)) return;
      failed_piece.store(piece, std::memory_order_relaxed);
      failure = std::current_exception();
    }
  }
};

// The caller and its workers.
class Team {
 public:
  explicit Team(int threads) : ranges_(static_cast<std::size_t>(threads)) {
    workers_.reserve(ranges_.size());
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(static_cast<std::size_t>(i)); });
    } catch (const std::system_error&) {
      // The system gives no more threads: the caller takes the ranges of those that are missing.
    }
  }
  ~Team() {
    gate_.fetch_or(kStop);
    wake(workers_.size());
    for (auto& worker : workers_) worker.join();
  }

  void run(Job& job, std::int64_t pieces) {
    const auto threads = static_cast<std::int64_t>(ranges_.size());
    for (std::int64_t i = 0; i < threads; ++i)
      ranges_[static_cast<std::size_t>(i)].fill(pieces * i / threads, pieces * (i + 1) / threads);
    job_ = &job;
    gate_.fetch_add(kNextJob | kOpen);
    if (sleeping_.load()) wake(static_cast<std::size_t>(pieces - 1));

    drain(0);

    // From here no thread enters; those that did are running their last piece.
    gate_.fetch_and(~kOpen);
    for (int spins = 0; gate_.load(std::memory_order_acquire) & kInsideMask; ++spins) {
      if (spins < 20000) relax();
      else std::this_thread::yield();
    }
  }

 private:
  // gate_: is there a job, shall workers stop, how many are inside the job, the job's number.
  static constexpr std::uint64_t kOpen = 1, kStop = 2, kInside = 4, kInsideMask = 0xfffc, kNextJob = 0x10000;
  static std::uint64_t job_number(std::uint64_t gate) { return gate / kNextJob; }

  void drain(std::size_t own) {
    Job& job = *job_;
    std::int64_t piece = 0;
    while (ranges_[own].take_front(piece)) job.run(piece);
    for (std::size_t i = 1; i < ranges_.size(); ++i) {
      Range& other = ranges_[(own + i) % ranges_.size()];
      while (other.take_back(piece)) job.run(piece);
    }
  }

  void work(std::size_t index) {
    inside_parallel_for = true;
    std::uint64_t last_job = 0;
    while (enter(last_job)) {
      drain(index);
      gate_.fetch_sub(kInside, std::memory_order_release);
    }
  }

  // Waits for a job other than `last_job` and enters it; false: the team is stopped.
  bool enter(std::uint64_t& last_job) {
    for (;;) {
      const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
      for (int spins = 1; spins % 64 || std::chrono::steady_clock::now() < deadline; ++spins) {
        std::uint64_t gate = gate_.load(std::memory_order_relaxed);
        if (gate & kStop) return false;
        if ((gate & kOpen) && job_number(gate) != last_job) {
          if (!gate_.compare_exchange_strong(gate, gate + kInside, std::memory_order_acquire)) continue;
          last_job = job_number(gate);
          return true;
        }
        relax();
      }
      sleep(last_job);
    }
  }

  // Until a job comes. One that is over by the time this thread is awake counts too: others may follow.
  void sleep(std::uint64_t last_job) {
    std::unique_lock lock(sleep_mutex_);
    const std::uint64_t known = job_number(gate_.load());
    // First this, then a look at the gate: either the caller sees this thread asleep, or it sees the caller's job.
    sleeping_.fetch_add(1);
    wake_.wait(lock, [&] {
      const std::uint64_t gate = gate_.load();
      const bool open = (gate & kOpen) && job_number(gate) != last_job;
      return open || (gate & kStop) || job_number(gate) != known;
    });
    sleeping_.fetch_sub(1);
  }

  void wake(std::size_t wanted) {
    { std::lock_guard lock(sleep_mutex_); }
    if (wanted >= workers_.size()) return wake_.notify_all();
    for (; wanted > 0; --wanted) wake_.notify_one();
  }

  alignas(64) std::atomic<std::uint64_t> gate_{0};
  alignas(64) std::atomic<int> sleeping_{0};
  Job* job_ = nullptr;
  std::vector<Range> ranges_;
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

struct Pool {
  std::mutex mutex;  // held by the caller whose work is spread
  std::unique_ptr<Team> team;
  Pool* parent = nullptr;
};

// Never destroyed: threads may use it while the process ends and its static objects go.
Pool& shared_pool() {
  static std::atomic<Pool*> pool = nullptr;
  // A forked child has no workers, and perhaps a locked mutex: it begins anew.
  static const int registered [[maybe_unused]] = [] {
    pool = new Pool;
    return pthread_atfork(nullptr, nullptr, [] { pool = new Pool{.mutex = {}, .team = {}, .parent = pool}; });
  }();
  return *pool;
}

int threads_at_start() {
  const char* const wish = setting("KILN_THREADS");
  if (!wish) {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    return cores < 1 ? 1 : cores > kMostThreads ? kMostThreads : cores;
  }
  char* end = nullptr;
  const long threads = std::strtol(wish, &end, 10);
  require<ArgumentError>(*end == 0 && threads >= 1 && threads <= kMostThreads,
                         "KILN_THREADS must be a number from 1 to ", kMostThreads, ", got '", shown(wish), "'");
  return static_cast<int>(threads);
}

std::atomic<int> wanted_threads = 0;  // 0: not yet known

std::int64_t grain_at_start() {
  const char* const wish = std::getenv("KILN_GRAIN");
  return wish ? std::max(0l, std::strtol(wish, nullptr, 10)) : 0;
}

std::atomic<std::int64_t> largest_grain = grain_at_start();  // 0: what the caller says
std::atomic<std::int64_t> cut = 0;

}  // namespace

int num_threads() {
  if (wanted_threads == 0) wanted_threads = threads_at_start();
  return wanted_threads;
}

void set_num_threads(int threads) {
  require<ArgumentError>(threads >= 1 && threads <= kMostThreads, "set_num_threads: from 1 to ", kMostThreads, ", got ",
                         threads);
  require<ArgumentError>(!inside_parallel_for, "set_num_threads: not inside a parallel_for");
  Pool& pool = shared_pool();
  std::lock_guard lock(pool.mutex);
  pool.team.reset();
  wanted_threads = threads;
}

void limit_grain(std::int64_t most) { largest_grain = most; }

std::int64_t cut_regions() { return cut; }

std::int64_t limited_grain(std::int64_t grain, std::int64_t unit) {
  const std::int64_t most = largest_grain.load(std::memory_order_relaxed);
  return most ? std::min(grain, most * unit) : grain;
}

void parallel_for(std::int64_t count, std::int64_t grain, PieceBody body) {
  parallel_pieces(count, limited_grain(grain), body);
}

void parallel_pieces(std::int64_t count, std::int64_t grain, PieceBody body) {
  if (grain < 1 || count <= grain) return serial_for(count, grain, body);
  const std::int64_t pieces = count / grain + (count % grain != 0);
  const bool serial = inside_parallel_for || num_threads() == 1 || pieces > kMostPieces;
  if (!inside_parallel_for) cut.fetch_add(1, std::memory_order_relaxed);
  const Inside inside;
  if (serial) return serial_for(count, grain, body);

  Pool& pool = shared_pool();
  std::unique_lock lock(pool.mutex, std::try_to_lock);
  if (!lock) return serial_for(count, grain, body);
  if (!pool.team) pool.team = std::make_unique<Team>(num_threads());
  Job job{.count = count, .grain = grain, .body = body};
  pool.team->run(job, pieces);
  lock.unlock();
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace kiln
