// Fusion: a backend that runs operations later, and fewer of them. Each thread that uses it records calls in its own
// stream. When a value is read, or the segment has as many operations as the device asks for, a planner turns the
// segment into a plan, which the inner backend runs. Plans are cached by the segment's structure, so that a training
// loop is planned once. Operations that wait keep their device alive: flush() a device before it is to be destroyed.
#pragma once
#include "kiln/core/mutex.hpp"
#include "kiln/fusion/plan_cache.hpp"
#include "kiln/ops/decorator.hpp"
#include "kiln/ops/unreported_errors.hpp"

namespace kiln::fusion {

class Fusion final : public Decorator {
 public:
  explicit Fusion(Ref<Backend> inner);
  ~Fusion() override;

  void run(const op::Op& op, Call call) override;
  /// Throws the error of the operations that led to the value.
  TensorData download(const Value& value) override;
  /// Runs the operations that the values wait for. Their errors are thrown where the data are awaited.
  Ref<PendingRead> start_read(Inputs values) override;
  /// Runs the operations that this thread has recorded.
  void flush() override;
  /// Runs the operations that the values wait for. Throws the error of those that led to one of the values.
  void run_pending(Inputs values) override;
  State state(const Value& value) const override;
  /// Runs the operations of all threads. Throws the errors of this thread's operations that have not been reported yet.
  void sync() override;
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<Fusion>(inner_->with_core(wrap)); }

  struct Statistics {
    std::int64_t recorded = 0, segments = 0, planned = 0;  // operations; segments that ran; those with a new structure
  };
  Statistics statistics() const;

 private:
  struct Stream;

  /// Whether the device runs asynchronously, so that it finds errors after the call that causes them.
  bool is_asynchronous() const { return traits_.first_ops > 0; }
  /// The number of calls after which the first segment of a stream runs.
  std::size_t first_ops() const { return traits_.first_ops ? traits_.first_ops : traits_.max_ops; }
  Stream& own_stream();
  std::vector<Ref<Stream>> streams() const;
  void restart_ramp();
  void wait_for(const Value& value);
  void run_segment(Stream& stream);
  void run_plan(Stream& stream);
  void run_step(Stream& stream, const PlanStep& step);
  void run_each_result(Stream& stream, const PlanStep& step, const Ref<Failure>& error);
  static void publish(Stream& stream);
  void report_failures(Stream& stream);

  const FusionTraits traits_;
  PlanCache plans_;
  UnreportedErrors unreported_;

  mutable Mutex mutex_;  // guards the members below
  std::vector<Ref<Stream>> streams_;
  Statistics statistics_;
};

}  // namespace kiln::fusion
