// LeafBackend: a backend that runs calls itself, with the answers of one that runs each before run() returns.
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
  Ref<Backend> with_core(Wrap wrap) override { return wrap(Ref<Backend>(this)); }
  /// Flushes, and throws what the values' storage knows to have failed.
  void run_pending(Inputs values) override;
  /// What the value's storage says.
  State state(const Value& value) const override;
  /// Nothing is to be joined.
  FusionTraits fusion_traits() const override;
};

/// Data that are there already, as an answer to start_read().
Ref<PendingRead> arrived(std::vector<TensorData> data);

}  // namespace kiln
