// Without exceptions the first error ends the program, so no failed value exists.
#include <cstdlib>

#include "kiln/ops/failure.hpp"

namespace kiln {

void throw_failure(const Failure&) { std::abort(); }
void throw_failures(std::span<const Ref<Failure>>) { std::abort(); }
void undo_throw(const Failure&) { std::abort(); }
Ref<PendingRead> failed_read(Ref<Failure>) { std::abort(); }
bool is_of_memory(const Failure&) { std::abort(); }

Ref<Failure> attempt(FunctionRef<void()> body) {
  body();
  return nullptr;
}

Ref<Failure> attempt(FunctionRef<void()> body, FunctionRef<std::string(std::string_view)> retell) {
  const auto describe = [&](ErrorKind, std::string& sentence) { sentence = retell(sentence); };
  const ErrorContext context(describe);
  return attempt(body);
}

}  // namespace kiln
