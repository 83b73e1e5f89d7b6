// Fusion: a backend that runs operations later and fewer of them. Each thread that uses it records calls in a stream of
// its own; when somebody reads a value, or the segment is as long as the device likes, a planner turns the segment into a
// plan that the inner backend runs. Plans are kept by the segment's structure, so that a training loop is planned once.
// Operations that wait keep their device alive: flush one that is to go away.
#pragma once
#include "kiln/core/mutex.hpp"
#include "kiln/fusion/plan_cache.hpp"
#include "kiln/ops/decorator.hpp"
#include "kiln/ops/untold.hpp"

namespace kiln::fusion {

class Fusion final : public Decorator {
 public:
  explicit Fusion(Ref<Backend> inner);
  ~Fusion() override;

  void run(const op::Op& op, Call call) override;
  /// Throws what went wrong with the operations that led to the value.
  TensorData download(const Value& value) override;
  /// Runs what the values wait for. What went wrong with them is thrown where the data are waited for.
  Ref<PendingRead> start_read(Inputs values) override;
  /// Runs what this thread has asked for.
  void flush() override;
  /// Runs what the values wait for. Throws what went wrong with the operations that led to one of them.
  void run_pending(Inputs values) override;
  State state(const Value& value) const override;
  /// Runs what every thread has asked for. Throws what went wrong with this thread's operations, where nobody was told.
  void sync() override;
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<Fusion>(inner_->with_core(wrap)); }

  struct Statistics {
    std::int64_t recorded = 0, segments = 0, planned = 0;  // operations; flushes; those that met a new structure
  };
  Statistics statistics() const;

 private:
  struct Stream;

  /// Does the device run by itself, so that it finds later than it is asked what is wrong?
  bool is_late() const { return traits_.first_ops > 0; }
  /// Of the calls that a stream starts with.
  std::size_t first_ops() const { return traits_.first_ops ? traits_.first_ops : traits_.most_ops; }
  Stream& own_stream();
  std::vector<Ref<Stream>> streams() const;
  void start_anew();
  void wait_for(const Value& value);
  void run_segment(Stream& stream);
  void run_plan(Stream& stream);
  void run_step(Stream& stream, const Plan::Step& step);
  void run_parts(Stream& stream, const Plan::Step& step, const Ref<Failure>& error);
  static void deliver(Stream& stream);
  void note_failures(Stream& stream);

  const FusionTraits traits_;
  PlanCache plans_;
  Untold untold_;

  mutable Mutex mutex_;  // of what follows
  std::vector<Ref<Stream>> streams_;
  Statistics statistics_;
};

}  // namespace kiln::fusion
