#include "kiln/backend/gpu/landing.hpp"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::gpu {

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::int64_t kPiece = 256 << 10;
  parallel_for(static_cast<std::int64_t>(bytes), kPiece, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

struct Notifier::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<std::function<void()>, Wakeup>> waiting;
  bool started = false, ended = false;

  /// The caller holds the mutex.
  static bool start(const std::shared_ptr<Shared>& shared);

  void run() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ended || !waiting.empty(); });
      if (waiting.empty()) return;
      const auto [wait, then] = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      try {
        wait();
      } catch (const Error&) {}
      then();
    }
  }
};

Notifier::Notifier() : shared_(std::make_shared<Shared>()) {}

Notifier::~Notifier() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ended = true;
  shared_->changed.notify_one();
}

/// Whether there is a thread that waits: a browser's module may have none.
bool Notifier::Shared::start(const std::shared_ptr<Shared>& shared) {
  if (shared->started) return true;
  try {
    std::thread([shared] { shared->run(); }).detach();
  } catch (const std::system_error&) { return false; }
  return shared->started = true;
}

// The thread shares its state and is detached: it may itself release the Notifier's owner last.
void Notifier::notify(std::function<void()> wait, Wakeup then) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (Shared::start(shared_)) {
      shared_->waiting.emplace_back(std::move(wait), then);
      shared_->changed.notify_one();
      return;
    }
  }
  try {
    wait();
  } catch (const Error&) {}
  then();
}

}  // namespace kiln::gpu
