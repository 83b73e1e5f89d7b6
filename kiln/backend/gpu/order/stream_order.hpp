// StreamOrder: which of a device's streams are in use, what has been submitted to each, and who has waited for it.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/core/mutex.hpp"

namespace kiln::gpu {

/// Work is counted by stream: what was counted with n is ordered before all that another stream does once it has waited
/// for n. A device with a single stream counts nothing. Thread-safe.
class StreamOrder {
 public:
  /// All that was submitted to the stream.
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  /// The driver must outlive this.
  explicit StreamOrder(Driver& driver) : driver_(driver), streams_(driver.streams()) {}
  /// Has the device several streams?
  bool any() const { return streams_ != nullptr; }
  /// The stream of this thread.
  int current() const { return streams_ ? stream_of(driver_) : 0; }

  /// Counts the work that this thread has submitted to its stream, and returns the count.
  std::uint64_t count(int number) { return counts_[at(number)].fetch_add(1, std::memory_order_acq_rel) + 1; }
  /// Work submitted to stream `number` from here on runs after what `other` had been given when it counted `count`.
  void wait(int number, int other, std::uint64_t count);
  /// Work submitted to stream `number` from here on runs after all that other streams were given by now.
  void wait_for_others(int number);
  /// Work submitted to other streams from here on runs after all that stream `number` was given by now. Where one of
  /// them cannot wait, the others do all the same, and then its error is thrown.
  void have_others_wait(int number);

  /// Takes a stream that nobody has, after all that the first was given by now. Throws DeviceError if all are taken.
  int open();
  /// Gives it back. The first stream waits for it.
  void close(int number);
  /// Is it a thread's own, or the first?
  bool is_open(int number) const { return number == 0 || taken_[at(number)].load(std::memory_order_acquire); }
  /// The streams that were ever opened, with the first.
  int opened() const { return opened_.load(std::memory_order_acquire); }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }

  Driver& driver_;
  Streams* const streams_;
  Mutex opening_;
  std::atomic<int> opened_{1};
  std::array<std::atomic<bool>, kMostStreams> taken_{};
  std::array<std::atomic<std::uint64_t>, kMostStreams> counts_{};
  std::array<std::array<std::atomic<std::uint64_t>, kMostStreams>, kMostStreams> waited_{};  // by who waits, for whom
};

}  // namespace kiln::gpu
