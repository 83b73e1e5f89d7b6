// The thread that asks a device for work, so that errors found later are reported to that thread.
#pragma once
#include <atomic>

#include "kiln/core/ref.hpp"

namespace kiln {

/// Identifies a thread; it may outlive the thread.
class Requester final : public RefCounted {
 public:
  /// Returns this thread's, or that of the innermost RequestedBy: null where no thread is to get errors.
  static Ref<Requester> current();
  /// Whether the thread has ended.
  bool is_gone() const { return gone_.load(std::memory_order_acquire); }

 private:
  friend struct OwnRequester;
  std::atomic<bool> gone_{false};
};

/// While this object lives, requests of this thread are attributed to another thread, whose operations it runs; null
/// attributes them to no thread, for computations that are repeated to compare results.
class RequestedBy {
 public:
  explicit RequestedBy(Ref<Requester> requester);
  ~RequestedBy();
  RequestedBy(const RequestedBy&) = delete;
  RequestedBy& operator=(const RequestedBy&) = delete;

 private:
  friend class Requester;
  const Ref<Requester> requester_;
  const RequestedBy* const outer_;
};

}  // namespace kiln
