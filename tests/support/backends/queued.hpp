// A device that runs by itself.
#pragma once
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/untold.hpp"
#include "tests/support/backends/worker.hpp"

namespace kiln::test {

/// Another thread runs what is asked for, in order, on a backend of its own. What goes wrong there is found when the call
/// has long returned: the results, and what is made of them, are failures from then on.
class Queued final : public LeafBackend {
 public:
  explicit Queued(Ref<Backend> inner) : inner_(std::move(inner)) {}

  std::string name() const override { return "queued"; }
  void run(const op::Op& op, Call call) override;
  bool has_kernel(const op::Op& op) const override { return inner_->has_kernel(op); }
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override { return std::move(start_read({&value, 1})->wait()[0]); }
  Ref<PendingRead> start_read(Inputs values) override;
  /// Throws what this thread asked for that went wrong, and that no caller was told of.
  void sync() override;
  MemoryStatistics memory() const override { return inner_->memory(); }
  /// The inner backend's, but that it wants to start early.
  FusionTraits fusion_traits() const override;

  Worker worker;

 private:
  struct Promise;
  struct Task;
  static Ref<Promise> promise_of(const Value& value);
  void run_task(const Task& task);
  void run_steps(const Task& task);

  const Ref<Backend> inner_;
  Untold untold_;
};

}  // namespace kiln::test
