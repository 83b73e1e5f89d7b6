#include "tests/support/backends/printed.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/core/error/error.hpp"
#include "tests/support/backends/forwarding_driver.hpp"

namespace kiln::test {
namespace {

struct Language {
  const gpu::Target* target;
  const char* extension;
};
Language language_of(std::string_view profile) {
  if (profile == "simulated:webgpu") return {&gpu::kWgslTarget, ".wgsl"};
  if (profile == "simulated:metal") return {&gpu::kMetalTarget, ".metal"};
  if (profile == "simulated:rocm") return {&gpu::kHipTarget, ".hip"};
  if (profile == "simulated:cuda") return {&gpu::kCudaTarget, ".cu"};
  if (profile == "simulated:vulkan4") return {&gpu::kVulkanWordsTarget, ".comp"};
  return {profile == "simulated:vulkan32" ? &gpu::kVulkanTarget : &gpu::kGlslTarget, ".comp"};
}

class PrintingDriver final : public ForwardingDriver {
 public:
  PrintingDriver(const gpu::Profile& profile, const char* folder)
      : ForwardingDriver(gpu::make_simulated(profile)), language_(language_of(profile.name)), folder_(folder) {}

  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override {
    Ref<gpu::Code> code = ForwardingDriver::compile(kernel);
    const std::string printed = gpu::print(kernel, *language_.target).text;
    const std::lock_guard lock(mutex_);
    if (texts_.insert(printed).second)
      std::ofstream(folder_ / text(kernel.name, "-", texts_.size(), language_.extension)) << printed;
    return code;
  }

 private:
  const Language language_;
  const std::filesystem::path folder_;
  std::mutex mutex_;
  std::set<std::string> texts_;
};

}  // namespace

Ref<Backend> printed_simulated(std::string_view profile) {
  const char* const folder = std::getenv("KILN_TEST_KERNELS");
  require<ArgumentError>(folder, "printed kernels go into the folder that KILN_TEST_KERNELS names");
  for (const gpu::Profile& each : gpu::profiles())
    if (each.name == profile) return make_ref<gpu::Gpu>(make_ref<PrintingDriver>(each, folder));
  fail<ArgumentError>("no profile is named '", profile, "'");
}

}  // namespace kiln::test
