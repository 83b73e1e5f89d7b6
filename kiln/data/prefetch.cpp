#include "kiln/data/prefetch.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kiln/core/error/memory_error.hpp"

namespace kiln {
namespace {

/// Assigns positions of a sequence: workers claim them in order, but at most `window` ahead of the position that the
/// consumer takes next. There is one consumer, and any number of workers.
class PrefetchWindow {
 public:
  PrefetchWindow(std::int64_t count, std::int64_t window) : count_(count), window_(window), done_(window, false) {}

  /// A worker asks for the next position, once it is in the window; none after the last one or after stop().
  std::optional<std::int64_t> claim();
  /// A worker says that the position it claimed is ready.
  void finish(std::int64_t position);
  /// The consumer waits until the next position is ready; none after the last one.
  std::optional<std::int64_t> wait();
  /// The consumer moves the window on, after it has moved away the result that wait() announced.
  void take();
  /// Makes every current and future claim() return none.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  const std::int64_t count_, window_;
  std::int64_t claimed_ = 0, taken_ = 0;
  std::vector<bool> done_;  // by position % window
  bool stopped_ = false;
};

std::optional<std::int64_t> PrefetchWindow::claim() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return stopped_ || claimed_ == count_ || claimed_ < taken_ + window_; });
  if (stopped_ || claimed_ == count_) return std::nullopt;
  return claimed_++;
}

void PrefetchWindow::finish(std::int64_t position) {
  {
    const std::lock_guard lock(mutex_);
    done_[static_cast<std::size_t>(position % window_)] = true;
  }
  ready_.notify_one();
}

std::optional<std::int64_t> PrefetchWindow::wait() {
  std::unique_lock lock(mutex_);
  const auto slot = static_cast<std::size_t>(taken_ % window_);
  if (stopped_ || taken_ == count_) return std::nullopt;
  ready_.wait(lock, [&] { return done_[slot]; });
  done_[slot] = false;
  return taken_;
}

void PrefetchWindow::take() {
  {
    const std::lock_guard lock(mutex_);
    ++taken_;
  }
  room_.notify_all();
}

void PrefetchWindow::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  room_.notify_all();
}

}  // namespace

class PrefetchQueue::State {
 public:
  State(Make make, std::int64_t count, int workers, int ahead)
      : make_(std::move(make)),
        count_(count),
        slots_(static_cast<std::size_t>(std::max({workers, ahead, 1}))),
        window_(count, static_cast<std::int64_t>(slots_.size())) {
    try {
      for (std::int64_t i = 0; i < std::min<std::int64_t>(workers, count); ++i)
        threads_.emplace_back([this] { work(); });
    } catch (...) {
      window_.stop();  // if a thread cannot be started the others must not wait forever
      throw;
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { window_.stop(); }

  std::shared_ptr<void> next() {
    if (threads_.empty()) {
      if (made_ == count_) return nullptr;
      const std::int64_t position = std::exchange(made_, count_);  // remains so if make() throws
      std::shared_ptr<void> value = make_(position);
      made_ = position + 1;
      return value;
    }
    const auto position = window_.wait();
    if (!position) return nullptr;
    Slot slot = std::exchange(slot_of(*position), {});
    if (slot.error) {
      window_.stop();
      std::rethrow_exception(slot.error);
    }
    window_.take();
    return std::move(slot.value);
  }

 private:
  struct Slot {
    std::shared_ptr<void> value;
    std::exception_ptr error;
  };
  Slot& slot_of(std::int64_t position) { return slots_[static_cast<std::size_t>(position) % slots_.size()]; }

  void work() {
    while (const auto position = window_.claim()) {
      Slot& slot = slot_of(*position);
      try {
        slot.value = make_(*position);
      } catch (...) { slot.error = std::current_exception(); }
      window_.finish(*position);
    }
  }

  Make make_;
  std::int64_t count_, made_ = 0;
  std::vector<Slot> slots_;
  PrefetchWindow window_;
  std::vector<std::jthread> threads_;  // declared last, so that they are joined before what they use is destroyed
};

PrefetchQueue::PrefetchQueue(Make make, std::int64_t count, int workers, int ahead) try
    : state_(std::make_unique<State>(std::move(make), count, workers, ahead)) {
} catch (...) { rethrow_as_memory_error("data loader"); }
PrefetchQueue::~PrefetchQueue() = default;

std::shared_ptr<void> PrefetchQueue::next() try { return state_->next(); } catch (...) {
  rethrow_as_memory_error("data loader");
}

}  // namespace kiln
