// Fusion: a backend that runs operations later and fewer of them. It records calls in a segment; when somebody reads a
// value, or the segment is long, a planner turns it into a plan that the inner backend runs. Plans are kept by the
// segment's structure, so that a training loop is planned once. Operations that wait keep their device alive: flush one
// that is to go away.
#pragma once
#include <exception>
#include <mutex>

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
  void flush() override;
  void sync() override;
  MemoryStatistics memory() const override { return inner_->memory(); }

  struct Statistics {
    std::int64_t recorded = 0, segments = 0, planned = 0;  // operations; flushes; those that met a new structure
  };
  Statistics statistics() const;

 private:
  void flush_locked();
  void run_step(const Plan::Step& step);

  const Ref<Backend> inner_;
  mutable std::recursive_mutex mutex_;
  Segment segment_;
  PlanCache plans_;
  Statistics statistics_;
  Values in_, out_;  // of the step under way; kept for their memory
  bool running_ = false;
  bool failed_ = false;       // some value holds a Failure in place of its contents
  std::exception_ptr error_;  // the first that nobody has been told of
};

}  // namespace kiln::fusion
