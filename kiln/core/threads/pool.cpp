// Implements parallel.hpp with threads.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/core/threads/cores.hpp"
#include "kiln/core/threads/team.hpp"

namespace kiln {
namespace {

constexpr int kMostThreads = 1024;

struct Inside {
  const bool before = std::exchange(inside_parallel_for, true);
  ~Inside() { inside_parallel_for = before; }
};

struct Pool {
  std::mutex mutex;  // held by the caller whose work is running
  std::unique_ptr<Team> team;
  Pool* parent = nullptr;
};

// Never destroyed: threads may use it while the process ends and static objects are destroyed.
Pool& shared_pool() {
  static std::atomic<Pool*> pool = nullptr;
  // A forked child has no workers, and perhaps a locked mutex: it starts with a new pool.
  static const int registered [[maybe_unused]] = [] {
    pool = new Pool;
    return pthread_atfork(nullptr, nullptr, [] { pool = new Pool{.mutex = {}, .team = {}, .parent = pool}; });
  }();
  return *pool;
}

int threads_at_start() {
  const char* const wish = setting("KILN_THREADS");
  if (!wish) return std::min(available_cores(), kMostThreads);
  char* end = nullptr;
  const long threads = std::strtol(wish, &end, 10);
  require<ArgumentError>(*end == 0 && threads >= 1 && threads <= kMostThreads,
                         "KILN_THREADS must be a number from 1 to ", kMostThreads, ", got '", shown(wish), "'");
  return static_cast<int>(threads);
}

std::atomic<int> wanted_threads = 0;  // 0: not known yet

void require_count(std::string_view name, int threads) {
  require<ArgumentError>(threads >= 1 && threads <= kMostThreads, name, ": from 1 to ", kMostThreads, ", got ",
                         threads);
  require<ArgumentError>(!inside_parallel_for, name, ": not inside a parallel_for");
}

/// The crew of this thread's innermost Threads.
thread_local Threads::State* own_state = nullptr;

std::int64_t grain_at_start() {
  const char* const wish = std::getenv("KILN_GRAIN");
  return wish ? std::max(0l, std::strtol(wish, nullptr, 10)) : 0;
}

std::atomic<std::int64_t> largest_grain = grain_at_start();  // 0: no limit
std::atomic<std::int64_t> cut = 0;

}  // namespace

struct Threads::State {
  Team team;
  const Pool* const process;  // a forked child has another pool and none of the team's workers
  State* const outer;
};

namespace {
/// The team of this thread's Threads; null outside any, and in a forked child.
Team* own_team() { return own_state && own_state->process == &shared_pool() ? &own_state->team : nullptr; }
}  // namespace

Threads::Threads(int threads) {
  require_count("Threads", threads);
  own_state = state_ = new State{.team = Team(threads), .process = &shared_pool(), .outer = own_state};
}
void Threads::destroy(State* state) {
  own_state = state->outer;
  if (state->process == &shared_pool()) delete state;
}

int num_threads() {
  if (const Team* const own = own_team()) return own->threads();
  if (wanted_threads == 0) wanted_threads = threads_at_start();
  return wanted_threads;
}

void set_num_threads(int threads) {
  require_count("set_num_threads", threads);
  Pool& pool = shared_pool();
  std::lock_guard lock(pool.mutex);
  pool.team.reset();
  wanted_threads = threads;
}

void limit_grain(std::int64_t most) { largest_grain = most; }

std::int64_t parallel_region_count() { return cut; }

std::int64_t limited_grain(std::int64_t grain, std::int64_t unit) {
  const std::int64_t most = largest_grain.load(std::memory_order_relaxed);
  return most ? std::min(grain, most * unit) : grain;
}

void parallel_for(std::int64_t count, std::int64_t grain, ChunkBody body) {
  parallel_chunks(count, limited_grain(grain), body);
}

void parallel_chunks(std::int64_t count, std::int64_t grain, ChunkBody body) {
  if (grain < 1 || count <= grain) return serial_for(count, grain, body);
  const std::int64_t chunks = count / grain + (count % grain != 0);
  const bool serial = inside_parallel_for || num_threads() == 1 || chunks > ChunkRange::kMaxChunks;
  if (!inside_parallel_for) cut.fetch_add(1, std::memory_order_relaxed);
  const Inside inside;
  if (serial) return serial_for(count, grain, body);

  Job job{.count = count, .grain = grain, .body = body};
  if (Team* const own = own_team()) {
    own->run(job, chunks);
  } else {
    Pool& pool = shared_pool();
    std::unique_lock lock(pool.mutex, std::try_to_lock);
    if (!lock) return serial_for(count, grain, body);
    if (!pool.team) pool.team = std::make_unique<Team>(num_threads());
    pool.team->run(job, chunks);
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace kiln
