// Failure: stored in place of the contents of a value that could not be computed. Fusion stores one where an operation
// of a plan has failed; a device that finds an error after the call returned stores one in the storage of the results.
#pragma once
#include <atomic>
#include <exception>
#include <span>
#include <vector>

#include "kiln/ops/backend.hpp"

namespace kiln {

struct Failure final : Storage {
  explicit Failure(std::exception_ptr error, std::vector<Ref<Failure>> causes = {})
      : error(std::move(error)), causes(std::move(causes)) {}
  Failure* failure() override { return this; }

  const std::exception_ptr error;
  /// Further failures that are reported together with this one; they have no causes themselves.
  const std::vector<Ref<Failure>> causes;
  /// How often the error has been thrown to a caller. Errors that were never thrown are kept in UnreportedErrors and
  /// reported by sync().
  mutable std::atomic<int> thrown{0};
};

/// Returns null for a value without an error, as far as is known.
inline Ref<Failure> failure_of(const Ref<Node>& node) {
  Storage* const storage = node ? node->storage.get() : nullptr;
  return Ref<Failure>(storage ? storage->failure() : nullptr);
}

/// The failure of a value that is computed from both; null where both are null.
Ref<Failure> joined(const Ref<Failure>& a, const Ref<Failure>& b);
/// A failure with the error of `own`, reported whenever `cause` is: the value would have failed with `cause` anyway, so
/// this is no separate error.
Ref<Failure> with_cause(const Ref<Failure>& own, const Ref<Failure>& cause);
/// The joined failure of these values; null where no error is known.
Ref<Failure> failure_among(Inputs values);

/// Throws the error, and records that a caller has received it.
[[noreturn]] void throw_failure(const Failure& failure);
/// Throws the first error, whose sentence continues with the others. All of them must be counted as thrown already.
[[noreturn]] void throw_failures(std::span<const Ref<Failure>> failures);
/// Takes back one throw: the error went not to a caller but to code that compares results.
void undo_throw(const Failure& failure);
/// Throws the error of the value, if one is known.
inline void throw_if_failed(const Value& value) {
  if (const Ref<Failure> failure = failure_of(value.node())) throw_failure(*failure);
}
/// The result of start_read() for a failed value: waiting for the data throws.
Ref<PendingRead> failed_read(Ref<Failure> failure);

/// Calls `body` and returns what it throws; null if it throws nothing. A build without exceptions ends with the first
/// error.
Ref<Failure> attempt(FunctionRef<void()> body);
/// Calls `body` like attempt() above, with the sentence of an Error changed by `retell`, also for error handlers.
Ref<Failure> attempt(FunctionRef<void()> body, FunctionRef<std::string(std::string_view)> retell);
/// Calls `body`, and drops what it throws: in destructors, and where it is told otherwise. It takes no memory, which may be
/// what lacks. Returns false where something was thrown.
bool without_errors(FunctionRef<void()> body) noexcept;
/// Whether the failure is a lack of memory.
bool is_of_memory(const Failure& failure);

}  // namespace kiln
