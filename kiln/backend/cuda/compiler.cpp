#include "kiln/backend/cuda/compiler.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <semaphore>
#include <utility>

#include "kiln/backend/cuda/nvrtc.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {

Compiler::Compiler(std::string architecture, gpu::CodeCache cache)
    : architecture_(std::move(architecture)), cache_(std::move(cache)), logs_(is_logged("cuda")) {}

std::vector<std::byte> Compiler::code(const std::string& kernel, const std::string& source) const {
  const auto start = std::chrono::steady_clock::now();
  const Nvrtc& nvrtc = Nvrtc::get();
  const std::string target = "--gpu-architecture=" + architecture_;
  const std::array options{target.c_str(), "--std=c++17", "--device-as-default-execution-space"};
  std::string key = text("NVRTC ", nvrtc.version(), "\n");
  for (const char* const option : options) key += text(option, "\n");
  key += source;

  std::optional<std::vector<std::byte>> code = cache_.find(key);
  const bool known = code.has_value();
  if (!known) {
    code = nvrtc.compile(kernel, source, options);
    cache_.keep(key, *code);
  }
  if (logs_) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "kiln: cuda: %s %s in %.1f ms\n", kernel.c_str(), known ? "was on the disk, read" : "compiled",
                 took.count());
  }
  return std::move(*code);
}

std::future<std::vector<std::byte>> Compiler::start(std::string kernel, std::string source) const {
  static std::counting_semaphore<> cores(num_threads());
  return std::async(std::launch::async, [compiler = *this, kernel = std::move(kernel), source = std::move(source)] {
    cores.acquire();
    const struct Core {
      ~Core() { cores.release(); }
    } core;
    return compiler.code(kernel, source);
  });
}

}  // namespace kiln::cuda
