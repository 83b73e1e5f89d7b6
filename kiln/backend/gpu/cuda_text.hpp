// A kernel that is CUDA C++ already, for who has one, or needs what only CUDA has. Devices that are none of NVIDIA's cannot
// run it, and nothing checks what it does: what gpu/kernel builds runs everywhere and is watched over by the simulated device.
#pragma once
#include <cstdint>
#include <string>

namespace kiln::gpu {

struct CudaText {
  std::string name;  // of the function that it defines: extern "C" __global__ void name(...)
  std::string text;  // a whole source file, without headers of the host, as NVRTC takes it (C++17)
  /// Each takes 8 bytes of a launch: a pointer, or a number in the low bytes. What the function has is compared with it.
  std::uint32_t parameters = 0;
  int threads = 256;              // to a block, along x
  std::int64_t shared_bytes = 0;  // of `extern __shared__` memory, for each block
};

}  // namespace kiln::gpu
