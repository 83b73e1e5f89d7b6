// The device "libtorch": Kiln's operations by the C++ library of PyTorch, on the processor. It runs each call at once.
// What ATen lacks, or defines otherwise, runs by the expansion of the op or by Kiln's reference kernels, on the same
// memory.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "kiln/backend/cpu/cpu.hpp"

namespace kiln::libtorch {

class LibTorch final : public cpu::Cpu {
 public:
  LibTorch();
  bool has_kernel(const op::Op& op) const override;
  /// None: ATen fuses nothing.
  FusionTraits fusion_traits() const override;
};

/// How often an operation ran so far in this process.
struct Runs {
  std::int64_t aten = 0;       // by ATen
  std::int64_t expanded = 0;   // by its expansion
  std::int64_t reference = 0;  // by Kiln's reference kernel
};
/// The runs of all operations, by the name of the function: "matmul", "exp".
std::map<std::string, Runs> runs();

}  // namespace kiln::libtorch
