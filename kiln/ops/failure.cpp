#include "kiln/ops/failure.hpp"

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

}  // namespace

void throw_failure(const Failure& failure) {
  failure.told = true;
  std::rethrow_exception(failure.error);
}

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

bool is_of_memory(const Failure& failure) {
  try {
    std::rethrow_exception(failure.error);
  } catch (const MemoryError&) { return true; } catch (...) {
    return false;
  }
}

}  // namespace kiln
