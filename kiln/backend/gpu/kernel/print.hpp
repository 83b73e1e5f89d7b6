// A kernel as text in the language of a device: CUDA C++, and HIP, which is the same but for a few words.
#pragma once
#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/ops/expression/dialect.hpp"

namespace kiln::gpu {

struct KernelText {
  std::string text;               // a whole source file
  std::string function;           // what it defines: the kernel's name might be one that the language has
  std::int64_t shared_bytes = 0;  // of shared memory that a launch gives each block
};

/// Takes expr::kCuda or expr::kHip. The function's parameters are the kernel's: pointers, and numbers by value.
KernelText print(const Kernel& kernel, const expr::Dialect& dialect);

}  // namespace kiln::gpu
