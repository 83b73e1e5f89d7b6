// The thread that asks a device for work, so that errors found later are reported to that thread.
#pragma once
#include <atomic>

#include "kiln/core/ref.hpp"

namespace kiln {

/// Identifies a thread; it may outlive the thread.
class Asker final : public RefCounted {
 public:
  /// Returns this thread's, or that of the innermost AskedBy: null where no thread is to get errors.
  static Ref<Asker> current();
  /// Whether the thread has ended.
  bool is_gone() const { return gone_.load(std::memory_order_acquire); }

 private:
  friend struct OwnAsker;
  std::atomic<bool> gone_{false};
};

/// While this object lives, requests of this thread are attributed to another thread, whose operations it runs; null
/// attributes them to no thread, for computations that are repeated to compare results.
class AskedBy {
 public:
  explicit AskedBy(Ref<Asker> asker);
  ~AskedBy();
  AskedBy(const AskedBy&) = delete;
  AskedBy& operator=(const AskedBy&) = delete;

 private:
  friend class Asker;
  const Ref<Asker> asker_;
  const AskedBy* const outer_;
};

}  // namespace kiln
