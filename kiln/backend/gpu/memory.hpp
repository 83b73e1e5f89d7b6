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
#include "kiln/ops/scope/asker.hpp"

namespace kiln::gpu {

using strided::Array;
using strided::read;

/// The device's pool, and the driver that its blocks come from; lives as long as anybody has a block of it. What is given
/// back may be handed out at once: the device does things in the order in which it is asked, so whoever gets a block writes
/// there after those who still read it.
class Pool : public RefCounted {
 public:
  explicit Pool(Ref<Driver> driver);
  Driver& driver() const { return *driver_; }
  MemoryPool& blocks() { return blocks_; }

 private:
  const Ref<Driver> driver_;
  MemoryPool blocks_;
};

/// Whether the data that an operation was given are wrong: its kernel leaves a number other than 0 in a cell of the
/// device's memory where they are (Gpu::launch_checked). What is made of its results knows it as well.
class DataCheck : public RefCounted {
 public:
  /// `tell` makes an error of what is in the cell, unless one of the checks `before` fails: then the data were wrong for
  /// that reason. It is told to who asks for the operation now.
  DataCheck(Value cell, std::function<std::exception_ptr(std::int64_t)> tell, std::vector<Ref<DataCheck>> before);
  /// Has the cell sent to the host; not before the kernel was launched.
  void start();
  /// Is it known by now?
  bool ready();
  /// Is it known that the data were right? Nobody needs to depend on that any more.
  bool passed() { return passed_ || (ready() && !failure()); }
  /// Waits. Null where the data were right.
  Ref<Failure> failure();
  const Ref<Asker>& asker() const { return asker_; }

 private:
  void start_locked();

  const Ref<Asker> asker_ = Asker::current();
  std::mutex mutex_;
  std::function<std::exception_ptr(std::int64_t)> tell_;  // with all that it holds, until it is known
  std::vector<Ref<DataCheck>> before_;                    // likewise
  Value cell_;                                            // until it is sent
  Ref<Transfer> transfer_;                                // until it has arrived
  std::atomic<bool> passed_{false};
  Ref<Failure> failure_;
};

class Memory final : public strided::Block {
 public:
  /// Throws MemoryError where there is none left.
  Memory(Ref<Pool> pool, std::size_t bytes, const Purpose& purpose);
  ~Memory() override;
  static void* operator new(std::size_t size) { return take_spare(size); }
  static void operator delete(void* memory, std::size_t size) { give_spare(memory, size); }
  Pool& pool() const { return *pool_; }

  bool ready() const override;
  Failure* failure() override;
  /// The contents are right if these find nothing wrong. Said before others see the memory.
  void depend_on(std::vector<Ref<DataCheck>> checks) { checks_ = std::move(checks); }
  const std::vector<Ref<DataCheck>>& checks() const { return checks_; }
  /// What the checks that fail say; waits for all.
  Ref<Failure> wait_for_checks();

  /// The meeting of ranks that fills it (Driver::meet), after which all that touches it comes. Said before others see the
  /// memory; 0: none.
  void filled_by(std::uint64_t meeting) { meeting_ = meeting; }
  std::uint64_t meeting() const { return meeting_; }

 private:
  const Ref<Pool> pool_;
  std::vector<Ref<DataCheck>> checks_;
  std::uint64_t meeting_ = 0;
  std::mutex mutex_;
  Ref<Failure> failure_;  // kept for who holds the pointer that failure() gave
};

/// Can so many bytes be loaded at once from there on? A GPU takes at most 16.
inline bool is_aligned(const std::byte* data, std::size_t bytes = 16) {
  return reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(bytes, 16) == 0;
}
inline bool is_aligned(const Array& array, std::size_t bytes = 16) { return is_aligned(array.data, bytes); }

}  // namespace kiln::gpu
