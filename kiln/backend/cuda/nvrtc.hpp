// NVRTC, NVIDIA's compiler of CUDA C++ as a library.
#pragma once
#include "kiln/backend/cuda/driver_api.hpp"
#include "kiln/backend/streams/compiler.hpp"

namespace kiln::cuda {

/// The installed library, or the file that KILN_NVRTC names. Throws DeviceError if there is none.
const RuntimeCompiler& nvrtc();

/// The compiler for an architecture: "sm_90".
Compiler compiler_for(const std::string& architecture, gpu::CodeCache cache = gpu::CodeCache::named("cuda"));

}  // namespace kiln::cuda
