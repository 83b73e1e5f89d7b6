#include "kiln/train/log/asynchronous.hpp"

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"

namespace kiln::training {

void throw_counted(const std::exception_ptr& first, std::size_t more) {
  const auto counted = [&](std::string_view said) {
    return with_end(said, text(" (and ", more, " more errors of this log)"));
  };
  if (more == 0) std::rethrow_exception(first);
  try {
    std::rethrow_exception(first);
  } catch (const Error& error) { raise(error.kind(), counted(error.message())); } catch (const std::bad_alloc&) {
    raise(ErrorKind::Memory, counted("the system gives no more memory"));
  } catch (const std::exception& error) { throw std::runtime_error(counted(error.what())); } catch (...) {
    throw std::runtime_error(counted("something that is no error"));
  }
}

struct EventThread::Shared {
  Shared(std::function<void(const Event&)> handle, std::int64_t most) : handle_(std::move(handle)), most_(most) {}

  void add(Event event, bool flushes) {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.wait(lock, [&] { return std::ssize(events_) < most_; });
    events_.push_back(std::move(event));
    changed_.notify_all();
    if (flushes) changed_.wait(lock, [&] { return events_.empty(); });
    throw_first(lock, flushes);
  }

  void flush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return events_.empty(); });
    throw_first(lock, true);
  }

  std::vector<std::exception_ptr> take_errors() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return events_.empty(); });
    const std::deque<std::exception_ptr> errors = std::exchange(errors_, {});
    return {errors.begin(), errors.end()};
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    for (const std::exception_ptr& error : errors_) try {
        std::rethrow_exception(error);
      } catch (const std::exception& said) { std::fprintf(stderr, "a log: %s\n", said.what()); } catch (...) {
        std::fprintf(stderr, "a log: something that is no error\n");
      }
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ended_ || !events_.empty(); });
      if (events_.empty()) return;
      // It stays in the list while it is handled: an empty list means that everything is written.
      const Event& event = events_.front();
      lock.unlock();
      std::exception_ptr error;
      try {
        handle_(event);
      } catch (...) { error = std::current_exception(); }
      lock.lock();
      if (error) errors_.push_back(std::move(error));
      events_.pop_front();
      changed_.notify_all();
    }
  }

  void throw_first(std::unique_lock<std::mutex>& lock, bool is_last) {
    if (errors_.empty()) return;
    const std::exception_ptr first = std::move(errors_.front());
    errors_.pop_front();
    const std::size_t more = is_last ? errors_.size() : 0;
    if (is_last) errors_.clear();
    lock.unlock();
    throw_counted(first, more);
  }

  std::function<void(const Event&)> handle_;
  std::int64_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  std::deque<std::exception_ptr> errors_;
  bool ended_ = false;
  std::thread thread_;
};

EventThread::EventThread(std::function<void(const Event&)> handle, std::int64_t most) {
  require<ArgumentError>(most >= 1, "Asynchronous: ", most, " events may wait: it must be at least 1");
  shared_ = std::make_unique<Shared>(std::move(handle), most);
}
EventThread::EventThread(EventThread&&) noexcept = default;
EventThread::~EventThread() {
  if (shared_) shared_->end();
}

void EventThread::add(Event event, bool flushes) { shared_->add(std::move(event), flushes); }
void EventThread::flush() { shared_->flush(); }
std::vector<std::exception_ptr> EventThread::take_errors() { return shared_->take_errors(); }

}  // namespace kiln::training
