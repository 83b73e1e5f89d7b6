// Compiles a kernel's text to code for one architecture: from the disk cache, or by NVRTC.
#pragma once
#include <future>
#include <string>

#include "kiln/backend/gpu/code_cache.hpp"

namespace kiln::cuda {

class Compiler {
 public:
  /// `architecture`: "sm_90"
  explicit Compiler(std::string architecture, gpu::CodeCache cache = gpu::CodeCache::named("cuda"));
  /// The code of `kernel`, the only one in `text`. Throws DeviceError if it does not compile, or there is no compiler.
  std::vector<std::byte> code(const std::string& kernel, const std::string& text) const;
  /// Compiles in a thread of its own: kernels that a program needs one after the other are compiled in parallel, as
  /// many as there are cores.
  std::future<std::vector<std::byte>> start(std::string kernel, std::string text) const;

 private:
  const std::string architecture_;
  const gpu::CodeCache cache_;
  const bool logs_;
};

}  // namespace kiln::cuda
