// A GPU's memory as tensors see it.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/memory/memory_pool.hpp"
#include "kiln/backend/strided/array.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/requester.hpp"

namespace kiln::gpu {

using strided::Array;
using strided::read;

/// The device's memory pool, and the driver that its blocks come from; lives as long as any of its blocks. A released
/// block may be handed out at once: the device works in order, so its new owner writes to it after the old one has read
/// it.
class Pool : public RefCounted {
 public:
  explicit Pool(Ref<Driver> driver);
  Driver& driver() const { return *driver_; }
  MemoryPool& blocks() { return blocks_; }
  /// The bytes of the block that holds so many: where a device binds no memory twice, blocks begin where it can bind.
  std::size_t size_of_block(std::size_t bytes) const;

 private:
  const Ref<Driver> driver_;
  MemoryPool blocks_;
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

 private:
  void start_locked();

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

 private:
  const Ref<Pool> pool_;
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
