// Copies from the memory of a GPU to that of another, which do not pass the host.
#pragma once
#include <vector>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/core/mutex.hpp"
#include "kiln/ops/move.hpp"

namespace kiln::gpu {

/// A point in a device's work: all that was submitted before to the stream of the thread that made the mark.
class Mark : public RefCounted {
 public:
  /// Whether the device is past it, or has failed.
  virtual bool passed() const = 0;
  virtual void wait() const = 0;
};

/// A device that other devices can copy from.
class Peer {
 public:
  virtual ~Peer() = default;
  /// Marks the work that was submitted by now, and starts it.
  virtual Ref<Mark> mark() = 0;
  virtual bool can_copy_from(Driver& other) = 0;
  /// Submits a copy from the memory of a device that it can copy from. The device waits for the other's mark first.
  virtual void copy_from(Driver& other, const Mark& ready, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
};

/// Memory that other devices still copy from: it is not free before.
class Lent {
 public:
  ~Lent() { await_all(); }
  void add(Ref<Storage> memory, Ref<Mark> copied);
  /// Frees what has been copied.
  void free_copied();
  /// Waits until all has been copied. Returns false if nothing was lent.
  bool await_all() noexcept;

 private:
  struct Loan {
    Ref<Storage> memory;
    Ref<Mark> copied;
  };
  Mutex mutex_;
  std::vector<Loan> loans_;  // one without elements takes no memory
};

/// Moves a value between two GPUs of which one can copy from the other; register_mover() takes it.
Ref<PendingMove> start_move(const Value& value, const Device& to);

}  // namespace kiln::gpu
