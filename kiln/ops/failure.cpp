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

}  // namespace kiln
