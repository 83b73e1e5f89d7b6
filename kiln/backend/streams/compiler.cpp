#include "kiln/backend/streams/compiler.hpp"

#include <chrono>
#include <cstdio>
#include <semaphore>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::streams {

std::vector<std::byte> Compiler::code(const std::string& kernel, const std::string& source) const {
  const auto start = std::chrono::steady_clock::now();
  const RuntimeCompiler& library = library_();
  std::vector<const char*> options;
  std::string key = library.version() + "\n";
  for (const std::string& option : options_) {
    options.push_back(option.c_str());
    key += option + "\n";
  }
  key += source;

  std::optional<std::vector<std::byte>> code = cache_.find(key);
  const bool known = code.has_value();
  if (!known) {
    code = library.compile(kernel, source, options);
    cache_.keep(key, *code);
  }
  const std::string device(library.names().device);
  if (is_logged(device.c_str())) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "kiln: %s: %s %s in %.1f ms\n", device.c_str(), kernel.c_str(),
                 known ? "was on the disk, read" : "compiled", took.count());
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

}  // namespace kiln::streams
