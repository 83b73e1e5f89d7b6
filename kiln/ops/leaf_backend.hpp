// LeafBackend: a backend that runs calls itself, with the answers of one that completes each call before run() returns.
#pragma once
#include "kiln/ops/backend.hpp"

namespace kiln {

class LeafBackend : public Backend {
 public:
  bool has_kernel(const op::Op&) const override { return true; }
  /// Downloads at once.
  Ref<PendingRead> start_read(Inputs values) override;
  bool accepts(const Device&) const override { return false; }
  void flush() override {}
  MemoryStatistics memory() const override { return {}; }
  /// Throws DeviceError: it has no memory of its own.
  void set_memory_limit(std::int64_t bytes) override;
  void reset_memory_peak() override {}
  void release_memory() override {}
  Float32Precision::Level float32_precision() const override { return float32_precision_; }
  void set_float32_precision(Float32Precision::Level level) override { float32_precision_ = level; }
  Ref<Backend> with_core(Wrap wrap) override { return wrap(Ref<Backend>(this)); }
  /// Flushes, and throws the errors stored with the values.
  void run_pending(Inputs values) override;
  /// Returns the state of the value's storage.
  State state(const Value& value) const override;
  /// Requests no fusion.
  FusionTraits fusion_traits() const override;

 private:
  std::atomic<Float32Precision::Level> float32_precision_{Float32Precision::Highest};
};

/// A result of start_read() whose data have arrived already.
Ref<PendingRead> arrived(std::vector<TensorData> data);

}  // namespace kiln
