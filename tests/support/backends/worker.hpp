// A thread that runs tasks in order.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace kiln::test {

class Worker {
 public:
  Worker() : thread_([this] { work(); }) {}
  /// Returns once all tasks are done.
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      held_until_ = {};
    }
    changed_.notify_all();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void add(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  /// Waits until all tasks that were added are done.
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
  }
  bool is_this_thread() const { return std::this_thread::get_id() == thread_.get_id(); }
  /// Starts no task until release(), or for two seconds: a caller that waits meanwhile is to be found, and not to hang.
  void hold() { hold_until(Clock::now() + std::chrono::seconds(2)); }
  void release() { hold_until({}); }

 private:
  using Clock = std::chrono::steady_clock;
  void hold_until(Clock::time_point time) {
    {
      const std::lock_guard lock(mutex_);
      held_until_ = time;
    }
    changed_.notify_all();
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !tasks_.empty() || ends_; });
      if (tasks_.empty()) return;
      if (Clock::now() < held_until_) {
        changed_.wait_until(lock, held_until_);
        continue;
      }
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  Clock::time_point held_until_{};
  bool busy_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace kiln::test
