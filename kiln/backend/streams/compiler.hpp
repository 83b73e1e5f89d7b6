// Compiles a kernel's text to code for one architecture: from the disk cache, or by the maker's compiler.
#pragma once
#include <future>
#include <string>

#include "kiln/backend/gpu/code_cache.hpp"
#include "kiln/backend/streams/runtime_compiler.hpp"

namespace kiln::streams {

class Compiler {
 public:
  /// `library` gives the compiler, or throws DeviceError; `options` name the architecture.
  Compiler(const RuntimeCompiler& (*library)(), std::vector<std::string> options, gpu::CodeCache cache)
      : library_(library), options_(std::move(options)), cache_(std::move(cache)) {}
  /// The code of `kernel`, the only one in `text`. Throws DeviceError if it does not compile, or there is no compiler.
  std::vector<std::byte> code(const std::string& kernel, const std::string& text) const;
  /// Compiles in a thread of its own: kernels that a program needs one after the other are compiled in parallel, as
  /// many as there are cores.
  std::future<std::vector<std::byte>> start(std::string kernel, std::string text) const;

 private:
  const RuntimeCompiler& (*library_)();
  const std::vector<std::string> options_;
  const gpu::CodeCache cache_;
};

}  // namespace kiln::streams
