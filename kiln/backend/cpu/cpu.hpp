// The processor as a device. It tries fast kernels first, then the reference, then the expansion of the op.
#pragma once
#include <vector>

#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/leaf_backend.hpp"

namespace kiln::op {
struct Epilogue;
struct BatchedOps;
struct RowBlocks;
}  // namespace kiln::op

namespace kiln::cpu {

class Cpu : public LeafBackend {
 public:
  /// Tries the families of `fast` in this order. Without any it is the oracle that other backends are compared with.
  Cpu(std::string_view name, std::vector<FastKernels> fast) : name_(name), fast_(std::move(fast)) {}

  std::string name() const override { return name_; }
  void run(const op::Op& op, Call call) override;
  bool has_kernel(const op::Op& op) const override;
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override;
  void sync() override {}
  MemoryStatistics memory() const override;
  void set_memory_limit(std::int64_t bytes) override;
  void reset_memory_peak() override;
  void release_memory() override;
  FusionTraits fusion_traits() const override;

 private:
  void run_kernel(const op::Op& op, Call call);
  void run_epilogue(const op::Epilogue& op, Call call);
  static bool goes_in_blocks(const op::RowBlocks& blocks, Inputs in);
  void run_row_blocked(const op::RowBlocks& blocks, Call call);
  void run_batched(const op::BatchedOps& parts, Call call);

  std::string name_;
  std::vector<FastKernels> fast_;
};

}  // namespace kiln::cpu
