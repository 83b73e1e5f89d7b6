// A kernel written in CUDA C++, for users who already have one or need what only CUDA offers. Only NVIDIA's devices can
// run it, and nothing checks what it does; a kernel that gpu/kernel builds runs everywhere, and the simulated device
// checks it.
#pragma once
#include <cstdint>
#include <string>

namespace kiln::gpu {

struct CudaText {
  std::string name;  // the function that `text` defines: extern "C" __global__ void name(...)
  std::string text;  // a whole source file, without host headers, as NVRTC accepts it (C++17)
  /// Each parameter takes 8 bytes of a launch: a pointer, or a number in the low bytes. Checked against the function's
  /// own.
  std::uint32_t parameters = 0;
  int threads = 256;              // per block, along x
  std::int64_t shared_bytes = 0;  // bytes of `extern __shared__` memory per block
};

}  // namespace kiln::gpu
