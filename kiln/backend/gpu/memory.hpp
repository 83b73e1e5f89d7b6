// A GPU's memory as tensors see it.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/order/stream_order.hpp"
#include "kiln/backend/memory/memory_pool.hpp"
#include "kiln/backend/strided/array.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/core/threads/brief_mutex.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/requester.hpp"

namespace kiln::gpu {

using strided::Array;
using strided::read;

/// The memory of a driver, as far as its budget lets pools hold it.
class SharedLimit final : public BlockSource {
 public:
  SharedLimit(BlockSource& source, MemoryBudget& budget) : source_(source), budget_(budget) {}
  std::byte* map(std::size_t bytes) override;
  bool unmap(std::byte* start, std::size_t bytes) override;
  bool returns_parts() const override { return source_.returns_parts(); }

 private:
  BlockSource& source_;
  MemoryBudget& budget_;
  std::mutex mutex_;
};

/// The device's memory pools, one for each of its streams, and the driver that their blocks come from; lives as long as
/// any of its blocks. A released block may be handed out at once: a stream works in order, so its new owner writes to it
/// after the old one has read it; and the stream waits for others that have read it (Memory::await_uses).
class Pool : public RefCounted {
 public:
  explicit Pool(Ref<Driver> driver);
  Driver& driver() const { return *driver_; }
  StreamOrder& order() { return order_; }
  /// The blocks of a stream that was opened.
  MemoryPool& blocks(int stream);
  /// The bytes of the block that holds so many: where a device binds no memory twice, blocks begin where it can bind.
  std::size_t size_of_block(std::size_t bytes) const;

  /// The sums over all streams. That of the peaks is more than was in use at once, if streams had theirs at other times.
  MemoryStatistics statistics();
  void set_limit(std::size_t bytes);
  void reset_peak();
  void release_unused();
  /// Says for errors what each stream and the driver's libraries hold.
  std::string report();
  /// Gives unused memory of other streams back to the device. Did anybody give some back since budget().returns() was
  /// `since`? Read before a request that failed, it tells whether another could succeed.
  bool release_others(int stream, std::uint64_t since);

 private:
  /// Calls f(pool, stream) for each pool; nobody adds one meanwhile.
  void for_each(FunctionRef<void(MemoryPool&, int)> f);

  const Ref<Driver> driver_;
  StreamOrder order_;
  SharedLimit memory_;
  MemoryPool blocks_;  // of the first stream
  std::mutex mutex_;
  std::size_t limit_;
  std::array<std::unique_ptr<MemoryPool>, kMostStreams> others_;  // by stream; null until it needs memory
};

/// DataCheck: whether the data given to an operation are valid. Where they are not, its kernel stores a number other
/// than 0 in a cell of the device's memory (Gpu::check_cell). Values computed from its results depend on the check as
/// well.
class DataCheck : public RefCounted {
 public:
  /// `tell` makes the error from the number in the cell, unless one of the checks `before` fails: then that is the
  /// cause. The error is reported to the Requester that is current now.
  DataCheck(Value cell, std::function<std::exception_ptr(std::int64_t)> tell, std::vector<Ref<DataCheck>> before);
  /// Starts the transfer of the cell to the host; the kernel must have been launched.
  void start();
  /// Is the result known?
  bool ready();
  /// Is it known that the data were valid? Then no value needs to depend on the check any more.
  bool passed() { return passed_ || (ready() && !failure()); }
  /// Waits for the result; null where the data were valid.
  Ref<Failure> failure();
  const Ref<Requester>& requester() const { return requester_; }
  /// The stream that writes the cell.
  int stream() const { return stream_; }

 private:
  void start_locked();

  const int stream_;
  const Ref<Requester> requester_ = Requester::current();
  std::mutex mutex_;
  std::function<std::exception_ptr(std::int64_t)> tell_;  // released, with its captures, once the result is known
  std::vector<Ref<DataCheck>> before_;                    // released once the result is known
  Value cell_;                                            // until the transfer starts
  bool narrow_ = false;                                   // is the cell a uint32?
  Ref<Transfer> transfer_;                                // until the bytes have arrived
  std::atomic<bool> passed_{false};
  Ref<Failure> failure_;
};

class Memory final : public strided::Block {
 public:
  /// Throws MemoryError if the pool has no memory left.
  Memory(Ref<Pool> pool, std::size_t bytes, const Purpose& purpose);
  ~Memory() override;
  static void* operator new(std::size_t size) { return cached_allocate(size); }
  static void operator delete(void* memory, std::size_t size) { cached_free(memory, size); }
  Pool& pool() const { return *pool_; }

  bool ready() const override;
  Failure* failure() override;
  /// The contents are valid if these checks pass. Called before others see the memory.
  void depend_on(std::vector<Ref<DataCheck>> checks) { checks_ = std::move(checks); }
  const std::vector<Ref<DataCheck>>& checks() const { return checks_; }
  /// Waits for all checks; returns the failures joined, or null.
  Ref<Failure> wait_for_checks();

  /// The collective that fills this memory (start_collective()): all work that touches the memory runs after it; 0:
  /// none. Set before others see the memory.
  void filled_by(std::uint64_t collective) { collective_ = collective; }
  std::uint64_t collective() const { return collective_; }

  /// The stream that alone writes to this memory: that of the thread that allocated it.
  int stream() const { return stream_; }
  /// The count of that stream (StreamOrder) once it was given the last write; kAll as long as nobody has said it.
  std::uint64_t written() const { return written_.load(std::memory_order_acquire); }
  void write(std::uint64_t count) { written_.store(count, std::memory_order_release); }
  /// Another stream is going to read it, and has been given all that does. Only the first may throw.
  void begin_use(int stream);
  void end_use(int stream, std::uint64_t count) noexcept;
  /// Work submitted to its stream from here on runs after what other streams read from it. The caller alone has it.
  void await_uses();

 private:
  struct StreamCount {
    int stream;
    std::uint64_t count;
  };
  Memory(Ref<Pool>&& pool, int stream, std::size_t bytes, const Purpose& purpose);

  const Ref<Pool> pool_;
  const int stream_;
  std::atomic<std::uint64_t> written_{StreamOrder::kAll};
  BriefMutex using_;
  std::vector<StreamCount> uses_;  // by other streams, one for each; under the lock while several have this memory
  std::vector<Ref<DataCheck>> checks_;
  std::uint64_t collective_ = 0;
  std::mutex mutex_;
  Ref<Failure> failure_;  // kept alive for the caller of failure()
};

/// Can `bytes` bytes be loaded at once from here? A GPU loads at most 16.
inline bool is_aligned(const std::byte* data, std::size_t bytes = 16) {
  return reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(bytes, 16) == 0;
}
inline bool is_aligned(const Array& array, std::size_t bytes = 16) { return is_aligned(array.data, bytes); }

}  // namespace kiln::gpu
