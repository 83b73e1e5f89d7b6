// Failure: in place of the contents of a value that could not be computed. Fusion leaves one where an operation of a plan
// has failed; a device that finds an error later than it was asked has one in the storage of the results.
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
  /// Who is told of this one need not be told of these, which have none themselves.
  const std::vector<Ref<Failure>> causes;
  /// How often the error has been thrown to a caller. Untold, of which sync() tells, has those that were thrown to none.
  mutable std::atomic<int> told{0};
};

/// Null for a value that nothing went wrong with, as far as is known.
inline Ref<Failure> failure_of(const Ref<Node>& node) {
  Storage* const storage = node ? node->storage.get() : nullptr;
  return Ref<Failure>(storage ? storage->failure() : nullptr);
}

/// What becomes of what is made of both: null where both are.
Ref<Failure> joined(const Ref<Failure>& a, const Ref<Failure>& b);
/// What says of itself what `own` does, though it would have failed with `cause` anyway: an error of its own it is none.
Ref<Failure> caused(const Ref<Failure>& own, const Ref<Failure>& cause);
/// Of all these values; null where nothing is known to have gone wrong.
Ref<Failure> failure_among(Inputs values);

/// Throws the error, and notes that a caller has been told.
[[noreturn]] void throw_failure(const Failure& failure);
/// Throws the first, whose sentence goes on with the others. They count as told already.
[[noreturn]] void throw_failures(std::span<const Ref<Failure>> failures);
/// The error was thrown to no caller after all, but to who wants to compare.
void take_back(const Failure& failure);
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
