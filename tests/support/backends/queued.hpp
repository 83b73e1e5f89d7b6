// An asynchronous device.
#pragma once
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/unreported_errors.hpp"
#include "tests/support/backends/worker.hpp"

namespace kiln::test {

/// Another thread runs the calls, in order, on a backend of its own. It finds errors long after the call has returned:
/// from then on the results, and all that is computed from them, are failures.
class Queued final : public LeafBackend {
 public:
  explicit Queued(Ref<Backend> inner) : inner_(std::move(inner)) {}

  std::string name() const override { return "queued"; }
  void run(const op::Op& op, Call call) override;
  bool has_kernel(const op::Op& op) const override { return inner_->has_kernel(op); }
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override { return std::move(start_read({&value, 1})->wait()[0]); }
  Ref<PendingRead> start_read(Inputs values) override;
  /// Throws the error of a call of this thread that failed and that no caller has been told of.
  void sync() override;
  MemoryStatistics memory() const override { return inner_->memory(); }
  /// Returns the inner backend's traits, but with an early start.
  FusionTraits fusion_traits() const override;

  Worker worker;

 private:
  struct Promise;
  struct Task;
  static Ref<Promise> promise_of(const Value& value);
  void run_task(const Task& task);
  void run_steps(const Task& task);

  const Ref<Backend> inner_;
  UnreportedErrors unreported_;
};

}  // namespace kiln::test
