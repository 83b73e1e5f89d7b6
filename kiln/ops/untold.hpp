// Untold: errors that a device found after the call returned, until they are thrown to a caller.
#pragma once
#include <vector>

#include "kiln/core/mutex.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/asker.hpp"

namespace kiln {

/// Errors for a device's sync() to throw, for values that were never read. Threads may call it at any time.
class Untold {
 public:
  /// Notes an error of a call of `asker`; with null it is not noted. If hundreds are never asked for, only the first
  /// ones are kept.
  void note(const Ref<Failure>& failure, const Ref<Asker>& asker);
  /// The errors kept for an asker: possible causes of a later error of that thread.
  Ref<Failure> known_of(const Ref<Asker>& asker);
  /// Throws the errors of this thread's operations that were not thrown to any caller: the first error, whose sentence
  /// continues with the others. Includes errors left by threads that have ended, once no value holds them any more.
  void tell();

 private:
  struct Entry {
    Ref<Failure> failure;
    Ref<Asker> asker;
  };
  static constexpr std::size_t kMost = 512;

  Mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace kiln
