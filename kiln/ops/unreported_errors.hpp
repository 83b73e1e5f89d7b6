// UnreportedErrors: errors that a device found after the call returned, until they are thrown to a caller.
#pragma once
#include <vector>

#include "kiln/core/mutex.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/requester.hpp"

namespace kiln {

/// Errors for a device's sync() to throw, for values that were never read. Threads may call it at any time.
class UnreportedErrors {
 public:
  /// Notes an error of a call of `requester`; with null it is not noted. If hundreds are never asked for, only the
  /// first ones are kept.
  void note(const Ref<Failure>& failure, const Ref<Requester>& requester);
  /// The errors kept for an asker: possible causes of a later error of that thread.
  Ref<Failure> errors_of(const Ref<Requester>& requester);
  /// Throws the errors of this thread's operations that were not thrown to any caller: the first error, whose sentence
  /// continues with the others. Includes errors left by threads that have ended, once no value holds them any more.
  void throw_all();

 private:
  struct UnreportedError {
    Ref<Failure> failure;
    Ref<Requester> requester;
  };
  static constexpr std::size_t kMost = 512;

  Mutex mutex_;
  std::vector<UnreportedError> entries_;
};

}  // namespace kiln
