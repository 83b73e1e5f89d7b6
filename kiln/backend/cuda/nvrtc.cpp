#include "kiln/backend/cuda/nvrtc.hpp"

#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {
namespace {

constexpr std::string_view kPurpose = "compiles kernels",
                           kRemedy =
                               "install NVIDIA's CUDA toolkit (Debian: libnvrtc12), or the Python package "
                               "nvidia-cuda-nvrtc-cu12 and let KILN_NVRTC name its libnvrtc.so.12";

SharedLibrary open_library() {
  if (const char* const file = setting("KILN_NVRTC")) return SharedLibrary("cuda", kPurpose, {file}, kRemedy);
  return SharedLibrary("cuda", kPurpose, {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, kRemedy);
}

}  // namespace

const RuntimeCompiler& nvrtc() {
  static const RuntimeCompiler opened(open_library(), {"cuda", "NVRTC", "nvrtc", "CUBIN", ".cu"});
  return opened;
}

Compiler compiler_for(const std::string& architecture, gpu::CodeCache cache) {
  return Compiler(nvrtc, {"--gpu-architecture=" + architecture, "--std=c++17", "--device-as-default-execution-space"},
                  std::move(cache));
}

}  // namespace kiln::cuda
