// Decorator: a backend that wraps another one and passes on whatever it does not override.
#pragma once
#include "kiln/ops/backend.hpp"
#include "kiln/ops/device.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln {

/// Passes on all functions of Backend except with_core(): only the derived class knows whether it is to be created
/// again around the new core, or is itself the core.
class Decorator : public Backend {
 public:
  explicit Decorator(Ref<Backend> inner) : inner_(std::move(inner)) {}

  std::string name() const override { return inner_->name(); }
  void run(const op::Op& op, Call call) override { inner_->run(op, call); }
  bool has_kernel(const op::Op& op) const override { return inner_->has_kernel(op); }
  Ref<Node> upload(TensorData data, const Device& device) override { return inner_->upload(std::move(data), device); }
  TensorData download(const Value& value) override { return inner_->download(value); }
  Ref<PendingRead> start_read(Inputs values) override { return inner_->start_read(values); }
  bool accepts(const Device& other) const override { return other.handle() == inner_ || inner_->accepts(other); }
  void flush() override { inner_->flush(); }
  void sync() override { inner_->sync(); }
  MemoryStatistics memory() const override { return inner_->memory(); }
  void set_memory_limit(std::int64_t bytes) override { inner_->set_memory_limit(bytes); }
  void reset_memory_peak() override { inner_->reset_memory_peak(); }
  void release_memory() override { inner_->release_memory(); }
  Float32Precision::Level float32_precision() const override { return inner_->float32_precision(); }
  void set_float32_precision(Float32Precision::Level level) override { inner_->set_float32_precision(level); }
  void run_pending(Inputs values) override { inner_->run_pending(values); }
  State state(const Value& value) const override { return inner_->state(value); }
  FusionTraits fusion_traits() const override { return inner_->fusion_traits(); }

  Backend& core() override { return inner_->core(); }

 protected:
  const Ref<Backend> inner_;
};

}  // namespace kiln
