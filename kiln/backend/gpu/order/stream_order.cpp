#include "kiln/backend/gpu/order/stream_order.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::gpu {

// The count is read before the wait is submitted, so it counts no work that comes after it.
void StreamOrder::wait(int number, int other, std::uint64_t count) {
  std::atomic<std::uint64_t>& waited = waited_[at(number)][at(other)];
  if (number == other || waited.load(std::memory_order_acquire) >= count) return;
  const std::uint64_t reached = counts_[at(other)].load(std::memory_order_acquire);
  streams_->wait_for_stream(number, other);
  for (std::uint64_t known = waited.load(std::memory_order_relaxed);
       known < reached && !waited.compare_exchange_weak(known, reached, std::memory_order_acq_rel);) {}
}

void StreamOrder::wait_for_others(int number) {
  for (int other = 0, count = opened(); other < count; ++other) wait(number, other, kAll);
}

void StreamOrder::have_others_wait(int number) {
  std::exception_ptr first;
  for (int other = 0, count = opened(); other < count; ++other) try {
      wait(other, number, kAll);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  if (first) std::rethrow_exception(first);
}

int StreamOrder::open() {
  const std::lock_guard lock(opening_);
  int number = 1;
  while (number < kMostStreams && taken_[at(number)].load(std::memory_order_relaxed)) ++number;
  require<DeviceError>(number < kMostStreams, driver_.name(), ": ", kMostStreams - 1,
                       " threads have a stream of their own, and there are no more; let one of them end its "
                       "DeviceStream, or let this thread share the first stream");
  streams_->open_stream(number);
  if (number >= opened()) opened_.store(number + 1, std::memory_order_release);
  wait(number, 0, kAll);
  taken_[at(number)].store(true, std::memory_order_release);
  return number;
}

void StreamOrder::close(int number) {
  taken_[at(number)].store(false, std::memory_order_release);
  wait(0, number, kAll);
}

}  // namespace kiln::gpu
