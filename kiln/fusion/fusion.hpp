// Fusion: a backend that runs operations later and fewer of them. Each thread that uses it records calls in a stream of
// its own; when somebody reads a value, or the segment is long, a planner turns the segment into a plan that the inner
// backend runs. Plans are kept by the segment's structure, so that a training loop is planned once. Operations that
// wait keep their device alive: flush one that is to go away.
#pragma once
#include <atomic>
#include <exception>
#include <mutex>

#include "kiln/fusion/failure.hpp"
#include "kiln/fusion/plan_cache.hpp"

namespace kiln::fusion {

class Fusion final : public Backend {
 public:
  explicit Fusion(Ref<Backend> inner);
  ~Fusion() override;

  std::string name() const override { return inner_->name(); }
  void run(const op::Op& op, Call call) override;
  bool has_kernel(const op::Op& op) const override { return inner_->has_kernel(op); }
  Ref<Node> upload(TensorData data, const Device& device) override { return inner_->upload(std::move(data), device); }
  /// Throws what went wrong with the operations that led to the value.
  TensorData download(const Value& value) override;
  /// Runs what this thread has asked for.
  void flush() override;
  /// Runs what the values wait for. Throws what went wrong with the operations that led to one of them.
  void run_pending(Inputs values) override;
  State state(const Value& value) const override;
  /// Runs what every thread has asked for.
  void sync() override;
  MemoryStatistics memory() const override { return inner_->memory(); }
  void set_memory_limit(std::int64_t bytes) override { inner_->set_memory_limit(bytes); }
  void reset_memory_peak() override { inner_->reset_memory_peak(); }
  void release_memory() override { inner_->release_memory(); }
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<Fusion>(inner_->with_core(wrap)); }

  struct Statistics {
    std::int64_t recorded = 0, segments = 0, planned = 0;  // operations; flushes; those that met a new structure
  };
  Statistics statistics() const;

 private:
  struct Stream;

  Stream& own_stream();
  std::vector<Ref<Stream>> streams() const;
  void wait_for(const Value& value);
  void throw_if_failed(const Value& value);
  void run_segment(Stream& stream);
  void run_plan(Stream& stream);
  void run_step(Stream& stream, const Plan::Step& step);
  void run_parts(Stream& stream, const Plan::Step& step, const std::exception_ptr& error);
  Ref<Failure> note(std::exception_ptr error);
  static void deliver(Stream& stream);

  const Ref<Backend> inner_;
  const std::uint64_t id_;  // no other Fusion of the program ever has it
  PlanCache plans_;
  std::atomic<bool> failed_{false};  // some value holds a Failure in place of its contents

  mutable std::mutex mutex_;  // of what follows
  std::vector<Ref<Stream>> streams_;
  Statistics statistics_;
  std::exception_ptr error_;  // the first that nobody has been told of
};

}  // namespace kiln::fusion
