#include "tests/support/backends/lowered.hpp"

#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/core/error/error.hpp"
#include "tests/backend/gpu/lowered.hpp"
#include "tests/support/backends/forwarding_driver.hpp"

namespace kiln::test {
namespace {

/// What happened to kernels; printed at the end.
struct Account {
  std::mutex mutex;
  int lowered = 0;
  std::map<std::string, int> refused;  // by sentence

  ~Account() {
    const char* const wanted = std::getenv("KILN_TEST_LOWERED");
    if (!wanted || (lowered == 0 && refused.empty())) return;
    std::fprintf(stderr, "%d kernels were lowered\n", lowered);
    for (const auto& [sentence, count] : refused) std::fprintf(stderr, "%d not: %s\n", count, sentence.c_str());
  }
};
Account& account() {
  static Account made;
  return made;
}

struct LoweredCode final : gpu::Code {
  gpu::Kernel kernel;
  Ref<gpu::Code> code;
};

class LoweringDriver final : public ForwardingDriver {
 public:
  explicit LoweringDriver(const gpu::LoweringRule& rule) : rule_(rule) {}

  void acquired(std::byte* start, std::size_t bytes) override {
    // The pool hands out whole words.
    ForwardingDriver::acquired(start, (bytes + 3) / 4 * 4);
    const std::lock_guard lock(mutex_);
    live_.insert_or_assign(address(start), (bytes + 3) / 4 * 4);
  }
  void released(std::byte* start, std::size_t bytes) override {
    {
      const std::lock_guard lock(mutex_);
      live_.erase(address(start));
    }
    ForwardingDriver::released(start, bytes);
  }

  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override {
    const Ref<LoweredCode> made = make_ref<LoweredCode>();
    try {
      made->kernel = rule_.apply(kernel);
      gpu::Kernel plain = made->kernel;  // whose arguments are made here
      plain.origins.clear();
      plain.uniform.clear();
      made->code = ForwardingDriver::compile(plain);
      const std::lock_guard lock(account().mutex);
      ++account().lowered;
    } catch (const DeviceError& error) {
      made->kernel = kernel;
      made->code = ForwardingDriver::compile(kernel);
      const std::lock_guard lock(account().mutex);
      ++account().refused[error.what()];
    }
    return made;
  }
  void launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override {
    const auto& lowered = static_cast<const LoweredCode&>(code);
    const gpu::Kernel& kernel = lowered.kernel;
    gpu::LoweredArguments made =
        lowered_arguments(kernel, blocks, arguments, [&](std::uint64_t at) { return base_of(at); });
    const std::size_t bytes = 4 * made.uniform.size();
    std::vector<std::uint32_t> uniform(made.uniform.size());
    std::byte* const block = reinterpret_cast<std::byte*>(uniform.data());
    if (bytes) {
      ForwardingDriver::acquired(block, bytes);
      uniform = made.uniform;
      const std::vector<std::size_t> words = kernel.words();
      for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
        if (kernel.parameters[i].uniform) made.arguments[words[i]] = address(block);
    }
    const bool spare = gpu::has_spare_blocks(kernel) && !kernel.together && blocks > 0;
    ForwardingDriver::launch(*lowered.code, blocks + (spare ? gpu::kSpareBlocks : 0), made.arguments);
    if (bytes) ForwardingDriver::released(block, bytes);
  }

 private:
  static std::uint64_t address(const std::byte* start) { return reinterpret_cast<std::uintptr_t>(start); }
  std::uint64_t base_of(std::uint64_t at) const {
    const std::lock_guard lock(mutex_);
    auto next = live_.upper_bound(at);
    if (next == live_.begin()) return at;
    const auto& [start, bytes] = *--next;
    return at <= start + bytes ? start : at;
  }

  const gpu::LoweringRule rule_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::size_t> live_;  // allocated memory: bytes by address
};

}  // namespace

Ref<Backend> lowered_simulated(std::string_view rule) {
  account();
  for (const gpu::LoweringRule& each : gpu::kLoweringRules)
    if (each.name == rule) return make_ref<gpu::Gpu>(make_ref<LoweringDriver>(each));
  fail<ArgumentError>("no rule of lowering is named '", rule, "'");
}

}  // namespace kiln::test
