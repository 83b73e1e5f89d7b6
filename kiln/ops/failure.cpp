#include "kiln/ops/failure.hpp"

#include <algorithm>

namespace kiln {
namespace {

class FailedRead final : public PendingRead {
 public:
  explicit FailedRead(Ref<Failure> failure) : failure_(std::move(failure)) {}
  bool ready() const override { return true; }
  std::vector<TensorData> wait() override { throw_failure(*failure_); }
  void notify(Wakeup then) override { then(); }

 private:
  const Ref<Failure> failure_;
};

void count(const Failure& failure, int throws) {
  failure.thrown += throws;
  for (const Ref<Failure>& cause : failure.causes) cause->thrown += throws;
}

std::string sentence_of(const Failure& failure) {
  try {
    std::rethrow_exception(failure.error);
  } catch (const std::exception& error) { return error.what(); } catch (...) {
    return "an error of an unknown type";
  }
}

}  // namespace

void throw_failure(const Failure& failure) {
  count(failure, 1);
  std::rethrow_exception(failure.error);
}

void throw_failures(std::span<const Ref<Failure>> failures) {
  constexpr std::size_t kShown = 4;
  try {
    std::rethrow_exception(failures[0]->error);
  } catch (const Error& first) {
    if (failures.size() == 1) throw;
    std::string sentence(first.message());
    for (const Ref<Failure>& other : failures.subspan(1, std::min(failures.size(), kShown) - 1))
      sentence += text("\n  also: ", sentence_of(*other));
    if (failures.size() > kShown) sentence += text("\n  and ", failures.size() - kShown, " more");
    raise(first.kind(), sentence);
  }
}

void undo_throw(const Failure& failure) { count(failure, -1); }

Ref<PendingRead> failed_read(Ref<Failure> failure) { return make_ref<FailedRead>(std::move(failure)); }

Ref<Failure> attempt(FunctionRef<void()> body) {
  try {
    body();
  } catch (...) { return make_ref<Failure>(std::current_exception()); }
  return nullptr;
}

Ref<Failure> attempt(FunctionRef<void()> body, FunctionRef<std::string(std::string_view)> retell) {
  return attempt([&] {
    try {
      body();
    } catch (const Error& error) { raise(error.kind(), retell(error.message())); }
  });
}

bool without_errors(FunctionRef<void()> body) noexcept {
  try {
    body();
    return true;
  } catch (...) { return false; }
}

bool is_of_memory(const Failure& failure) {
  try {
    std::rethrow_exception(failure.error);
  } catch (const MemoryError&) { return true; } catch (...) {
    return false;
  }
}

}  // namespace kiln
