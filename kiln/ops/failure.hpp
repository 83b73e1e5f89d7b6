// Failure: in place of the contents of a value that could not be computed. Fusion leaves one where an operation of a plan
// has failed; a device that finds an error later than it was asked has one in the storage of the results.
#pragma once
#include <atomic>
#include <exception>

#include "kiln/ops/backend.hpp"

namespace kiln {

struct Failure final : Storage {
  explicit Failure(std::exception_ptr error) : error(std::move(error)) {}
  Failure* failure() override { return this; }
  const std::exception_ptr error;
  /// Has the error been thrown to a caller? sync() throws those that have not.
  mutable std::atomic<bool> told{false};
};

/// Null for a value that nothing went wrong with, as far as is known.
inline Ref<Failure> failure_of(const Ref<Node>& node) {
  Storage* const storage = node ? node->storage.get() : nullptr;
  return Ref<Failure>(storage ? storage->failure() : nullptr);
}

/// Throws the error, and notes that a caller has been told.
[[noreturn]] void throw_failure(const Failure& failure);
/// Throws what is known to have gone wrong with the value.
inline void throw_if_failed(const Value& value) {
  if (const Ref<Failure> failure = failure_of(value.node())) throw_failure(*failure);
}
/// In answer to start_read(): throws where the data are waited for.
Ref<PendingRead> failed_read(Ref<Failure> failure);

/// Calls `body`, and gives what it throws; null if it throws nothing. A build without exceptions ends with the first error.
Ref<Failure> attempt(FunctionRef<void()> body);
/// The same, where an Error says what `retell` makes of its sentence, on its way to error handlers as well.
Ref<Failure> attempt(FunctionRef<void()> body, FunctionRef<std::string(std::string_view)> retell);
/// Was there too little memory?
bool is_of_memory(const Failure& failure);

}  // namespace kiln
