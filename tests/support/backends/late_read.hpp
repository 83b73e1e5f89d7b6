// A read whose data arrive on another thread.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include "kiln/ops/backend.hpp"

namespace kiln::test {

class LateRead final : public PendingRead {
 public:
  bool ready() const override {
    const std::lock_guard lock(mutex_);
    return ready_;
  }
  std::vector<TensorData> wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_; });
    if (error_) std::rethrow_exception(error_);
    return std::move(data_);
  }
  void notify(Wakeup then) override {
    {
      const std::lock_guard lock(mutex_);
      if (!ready_) {
        then_ = then;
        return;
      }
    }
    then();
  }

  /// Completes the read with what `read` returns, or with the error that it throws.
  template <class Read>
  void arrive(Read&& read) {
    std::vector<TensorData> data;
    std::exception_ptr error;
    try {
      data = read();
    } catch (...) { error = std::current_exception(); }
    std::optional<Wakeup> then;
    {
      const std::lock_guard lock(mutex_);
      data_ = std::move(data);
      error_ = error;
      ready_ = true;
      then = then_;
    }
    changed_.notify_all();
    if (then) (*then)();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false;
  std::vector<TensorData> data_;
  std::exception_ptr error_;
  std::optional<Wakeup> then_;
};

}  // namespace kiln::test
