// The device "libtorch": Kiln's operations by the C++ library of PyTorch, on the processor. It runs each call at once.
// What ATen lacks, or defines otherwise, runs by the expansion of the op or by Kiln's reference kernels, on the same
// memory.
#pragma once
#include "kiln/backend/cpu/cpu.hpp"

namespace kiln::libtorch {

class LibTorch final : public cpu::Cpu {
 public:
  LibTorch();
  bool has_kernel(const op::Op& op) const override;
  /// Requests no fusion: ATen fuses nothing.
  FusionTraits fusion_traits() const override;
};

}  // namespace kiln::libtorch
