#include "kiln/core/threads/team.hpp"

#include <algorithm>
#include <system_error>

#include "kiln/core/threads/wait.hpp"

namespace kiln {
namespace {

// The bits of gate_: whether there is a job, whether workers shall stop, and the job's number.
constexpr std::uint64_t kOpen = 1, kStop = 2, kNextJob = 4;
std::uint64_t job_number(std::uint64_t gate) { return gate / kNextJob; }

// The time in which a thread that is looking for a job sees it and enters.
constexpr auto kComes = std::chrono::microseconds(3);

}  // namespace

void Job::run(std::int64_t chunk) {
  if (chunk > failed_chunk.load(std::memory_order_relaxed)) return;
  const std::int64_t begin = chunk * grain;
  try {
    body(begin, count - begin < grain ? count : begin + grain);
  } catch (...) {
    std::lock_guard lock(failure_mutex);
    if (chunk > failed_chunk.load(std::memory_order_relaxed)) return;
    failed_chunk.store(chunk, std::memory_order_relaxed);
    failure = std::current_exception();
  }
}

bool ChunkRange::take(std::int64_t& chunk, bool front) {
  std::uint64_t ends = ends_.load(std::memory_order_relaxed);
  for (;;) {
    const std::int64_t first = first_of(ends), last = last_of(ends);
    if (first == last) return false;
    chunk = front ? first : last - 1;
    const std::uint64_t rest = front ? pack(first + 1, last) : pack(first, last - 1);
    if (ends_.compare_exchange_weak(ends, rest, std::memory_order_relaxed)) return true;
  }
}

Team::Team(int threads) : ranges_(static_cast<std::size_t>(threads)), presence_(ranges_.size()) {
  presence_[0].state = Presence::Inside;  // the caller, whenever there is a job
  workers_.reserve(ranges_.size());
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(static_cast<std::size_t>(i)); });
  } catch (const std::system_error&) {
    // The system gives no more threads: the caller takes the ranges of the missing ones.
  }
}

Team::~Team() {
  gate_.fetch_or(kStop);
  wake(workers_.size());
  for (auto& worker : workers_) worker.join();
}

void Team::run(Job& job, std::int64_t chunks) {
  const auto threads = static_cast<std::int64_t>(ranges_.size());
  const auto first = [&](std::int64_t thread) { return (chunks * thread + threads - 1) / threads; };
  for (std::int64_t i = 0; i < threads; ++i) ranges_[static_cast<std::size_t>(i)].fill(first(i), first(i + 1));
  job_ = &job;
  gate_.fetch_add(kNextJob | kOpen);
  if (sleeping_.load()) wake(static_cast<std::size_t>(chunks - 1));

  drain(0);

  // From here on no thread enters; those inside are running their last piece.
  gate_.fetch_and(~kOpen);
  for (std::size_t i = 1; i < presence_.size(); ++i)
    for (Wait wait; presence_[i].state.load() == Presence::Inside;) wait.pause();
}

void Team::drain(std::size_t own) {
  Job& job = *job_;
  std::int64_t chunk = 0;
  const Wait::Clock::time_point begin = Wait::Clock::now();
  while (ranges_[own].take_front(chunk)) job.run(chunk);
  const auto take_from = [&](std::size_t other) {
    while (ranges_[other].take_back(chunk)) job.run(chunk);
  };
  const auto is_coming = [&](std::size_t other) {
    return presence_[other].state.load(std::memory_order_relaxed) == Presence::Awake && !ranges_[other].empty();
  };
  bool all_came = true;
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    const std::size_t other = (own + i) % ranges_.size();
    if (is_coming(other)) all_came = false;
    else take_from(other);
  }
  if (all_came) return;
  // Others have as much to do as this thread had. It waits for them no longer than it would take to do their work
  // itself.
  const Wait::Clock::time_point now = Wait::Clock::now();
  const auto late = now + std::min<Wait::Clock::duration>(now - begin, kComes);
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    const std::size_t other = (own + i) % ranges_.size();
    while (is_coming(other) && Wait::Clock::now() < late) Wait::relax();
    auto awake = Presence::Awake;
    if (is_coming(other)) presence_[other].state.compare_exchange_strong(awake, Presence::Away);
    take_from(other);
  }
}

void Team::work(std::size_t index) {
  inside_parallel_for = true;
  std::uint64_t last_job = 0;
  while (enter(index, last_job)) {
    drain(index);
    presence_[index].state.store(Presence::Awake, std::memory_order_release);
  }
}

// Waits for a job other than `last_job` and enters it; returns false where the team is stopped. A job in which this
// thread has no pieces is entered only when the other threads should have reached theirs.
bool Team::enter(std::size_t own, std::uint64_t& last_job) {
  Presence& presence = presence_[own];
  std::uint64_t seen_job = last_job;
  Wait::Clock::time_point late;
  for (;;) {
    for (Wait wait; wait.pause();) {
      if (presence.state.load(std::memory_order_relaxed) == Presence::Away) presence.state.store(Presence::Awake);
      std::uint64_t gate = gate_.load(std::memory_order_acquire);
      if (gate & kStop) return false;
      if (!(gate & kOpen) || job_number(gate) == last_job) continue;
      if (ranges_[own].empty()) {
        const auto now = Wait::Clock::now();
        if (job_number(gate) != seen_job) seen_job = job_number(gate), late = now + kComes;
        if (now < late) continue;
      }
      // The order matters: store first, then read the gate. Either the caller sees this thread inside, or this thread
      // sees that the job is over.
      presence.state.store(Presence::Inside);
      gate = gate_.load();
      last_job = job_number(gate);
      if (gate & kOpen) return true;
      presence.state.store(Presence::Awake, std::memory_order_release);
    }
    sleep(presence, last_job);
  }
}

// Sleeps until a job comes. A job that is over when this thread wakes up ends the sleep too: others may follow.
void Team::sleep(Presence& own, std::uint64_t last_job) {
  std::unique_lock lock(sleep_mutex_);
  const std::uint64_t known = job_number(gate_.load());
  // The order matters: store first, then read the gate. Either the caller sees this thread asleep, or this thread sees
  // the caller's job.
  sleeping_.fetch_add(1);
  own.state.store(Presence::Away);
  wake_.wait(lock, [&] {
    const std::uint64_t gate = gate_.load();
    const bool open = (gate & kOpen) && job_number(gate) != last_job;
    return open || (gate & kStop) || job_number(gate) != known;
  });
  sleeping_.fetch_sub(1);
}

void Team::wake(std::size_t wanted) {
  { std::lock_guard lock(sleep_mutex_); }
  if (wanted >= workers_.size()) return wake_.notify_all();
  for (; wanted > 0; --wanted) wake_.notify_one();
}

}  // namespace kiln
