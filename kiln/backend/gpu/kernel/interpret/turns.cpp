#include "kiln/backend/gpu/kernel/interpret/turns.hpp"

#include <thread>

namespace kiln::gpu::interpreted {

void Turns::run(std::int64_t blocks, FunctionRef<void(std::int64_t)> run) {
  done_.assign(static_cast<std::size_t>(blocks), 0);
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < blocks; ++i)
    threads.emplace_back([&, i] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return now_ == i; });
      if (!failure_) {
        lock.unlock();
        std::exception_ptr failure;
        try {
          run(i);
        } catch (...) { failure = std::current_exception(); }
        lock.lock();
        if (!failure_) failure_ = failure;
      }
      done_[static_cast<std::size_t>(i)] = 1;
      in_vain_ = 0;
      hand_on(i);
    });
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

bool Turns::wait(std::int64_t block, FunctionRef<bool()> holds) {
  std::unique_lock lock(mutex_);
  while (!holds()) {
    if (failure_ || in_vain_ > static_cast<std::int64_t>(done_.size())) return false;
    ++in_vain_;
    hand_on(block);
    changed_.wait(lock, [&] { return now_ == block; });
  }
  in_vain_ = 0;
  return true;
}

void Turns::hand_on(std::int64_t from) {
  const auto count = static_cast<std::int64_t>(done_.size());
  for (std::int64_t i = 1; i <= count; ++i)
    if (const std::int64_t next = (from + i) % count; !done_[static_cast<std::size_t>(next)]) {
      now_ = next;
      break;
    }
  changed_.notify_all();
}

}  // namespace kiln::gpu::interpreted
