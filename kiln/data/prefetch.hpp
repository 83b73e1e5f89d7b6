// Computes a sequence of values ahead of their use, on several threads, and hands them out in order.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace kiln {

/// Who may work on which position of a sequence: workers claim positions in order, but no more than `window`
/// ahead of the one that the consumer takes next. One consumer, any number of workers.
class Turnstile {
 public:
  Turnstile(std::int64_t count, std::int64_t window) : count_(count), window_(window), done_(window, false) {}

  /// For a worker: the next position, once there is room for it; nothing after the last one or after stop().
  std::optional<std::int64_t> claim();
  /// For a worker: what it claimed is ready.
  void finish(std::int64_t position);
  /// For the consumer: waits until the next position is ready; nothing after the last one.
  std::optional<std::int64_t> wait();
  /// For the consumer: makes room for one more. To be called when what wait() announced has been moved away.
  void take();
  /// Lets every claim() from now on, and those that wait, come back with nothing.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  const std::int64_t count_, window_;
  std::int64_t claimed_ = 0, taken_ = 0;
  std::vector<bool> done_;  // by position % window
  bool stopped_ = false;
};

/// next() is make(0), make(1), ..., make(count - 1), then nothing. With no workers they are made when asked
/// for; with some, `make` is called from their threads, up to `ahead` positions early. What `make` throws at a
/// position comes out of next() there, and the sequence ends. The destructor waits for calls under way.
template <class T>
class Prefetcher {
 public:
  Prefetcher(std::function<T(std::int64_t)> make, std::int64_t count, int workers, int ahead)
      : make_(std::move(make)),
        count_(count),
        slots_(static_cast<std::size_t>(std::max({workers, ahead, 1}))),
        turnstile_(count, static_cast<std::int64_t>(slots_.size())) {
    try {
      for (std::int64_t i = 0; i < std::min<std::int64_t>(workers, count); ++i)
        threads_.emplace_back([this] { work(); });
    } catch (...) {
      turnstile_.stop();  // a thread that could not start must not leave the others waiting
      throw;
    }
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  ~Prefetcher() { turnstile_.stop(); }

  std::optional<T> next() {
    if (threads_.empty()) {
      if (made_ == count_) return std::nullopt;
      const std::int64_t position = std::exchange(made_, count_);  // stays so where make() throws
      std::optional<T> value = make_(position);
      made_ = position + 1;
      return value;
    }
    const auto position = turnstile_.wait();
    if (!position) return std::nullopt;
    Slot slot = std::exchange(slot_of(*position), {});
    if (slot.error) {
      turnstile_.stop();
      std::rethrow_exception(slot.error);
    }
    turnstile_.take();
    return std::move(slot.value);
  }

 private:
  struct Slot {
    std::optional<T> value;
    std::exception_ptr error;
  };
  Slot& slot_of(std::int64_t position) { return slots_[static_cast<std::size_t>(position) % slots_.size()]; }

  void work() {
    while (const auto position = turnstile_.claim()) {
      Slot& slot = slot_of(*position);
      try {
        slot.value = make_(*position);
      } catch (...) { slot.error = std::current_exception(); }
      turnstile_.finish(*position);
    }
  }

  std::function<T(std::int64_t)> make_;
  std::int64_t count_, made_ = 0;
  std::vector<Slot> slots_;
  Turnstile turnstile_;
  std::vector<std::jthread> threads_;  // last, so that they are joined before what they use goes
};

}  // namespace kiln
