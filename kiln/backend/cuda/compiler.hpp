// From a kernel's text to code for one architecture: from the disk, or by NVRTC.
#pragma once
#include <future>
#include <string>

#include "kiln/backend/cuda/code_cache.hpp"

namespace kiln::cuda {

class Compiler {
 public:
  /// "sm_90"
  explicit Compiler(std::string architecture, CodeCache cache = CodeCache());
  /// The code of `kernel`, the only one in `text`. Throws DeviceError where it does not compile, or nothing compiles.
  std::vector<std::byte> code(const std::string& kernel, const std::string& text) const;
  /// The same by a thread of its own: kernels that a program needs one after the other are compiled at the same time, as many
  /// as there are cores.
  std::future<std::vector<std::byte>> start(std::string kernel, std::string text) const;

 private:
  const std::string architecture_;
  const CodeCache cache_;
  const bool logs_;
};

}  // namespace kiln::cuda
