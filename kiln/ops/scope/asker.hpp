// Who asks a device for something, so that errors which are found later are told to the one whose they are.
#pragma once
#include <atomic>

#include "kiln/core/ref.hpp"

namespace kiln {

/// A thread, while it lives and after.
class Asker final : public RefCounted {
 public:
  /// Of this thread, or what the innermost AskedBy says: null where nobody is to be told.
  static Ref<Asker> current();
  /// Has the thread ended?
  bool is_gone() const { return gone_.load(std::memory_order_acquire); }

 private:
  friend struct OwnAsker;
  std::atomic<bool> gone_{false};
};

/// While it lives, what this thread asks for counts as asked for by another, whose operations it runs; null: by nobody, for
/// what is computed once more to compare.
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
