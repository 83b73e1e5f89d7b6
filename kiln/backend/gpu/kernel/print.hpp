// Prints a kernel as source text in the language of a device: CUDA C++, or HIP, which differs in a few words.
#pragma once
#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/ops/expression/dialect.hpp"

namespace kiln::gpu {

struct KernelText {
  std::string text;               // a whole source file
  std::string function;           // the name that it defines, since the kernel's own might be reserved in the language
  std::int64_t shared_bytes = 0;  // shared memory per block of a launch
};

/// `dialect` is expr::kCuda or expr::kHip. The function's parameters are the kernel's: pointers, and numbers by value.
KernelText print(const Kernel& kernel, const expr::Dialect& dialect);

}  // namespace kiln::gpu
