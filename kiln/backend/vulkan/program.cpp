#include "kiln/backend/vulkan/program.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/backend/gpu/kernel/refusal.hpp"
#include "kiln/backend/vulkan/capabilities.hpp"
#include "kiln/backend/vulkan/glsl.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::vulkan {
namespace {

gpu::Kernel without_body(gpu::Kernel kernel) {
  kernel.body.clear();
  kernel.values.clear();
  return kernel;
}

[[noreturn]] void refuse(const std::string& sentence) { throw gpu::Refused({gpu::Refusal::Reason::Limit, sentence}); }

/// The driver, its version and the device: as the driver itself tells its caches apart.
std::string identity_of(const PhysicalDevice& device) {
  const VkPhysicalDeviceProperties& has = device.properties;
  std::string all = text(device.driver.driverName, " ", device.driver.driverInfo, "\n", has.deviceName, " ",
                         has.vendorID, " ", has.deviceID, " ", has.driverVersion, " ", has.apiVersion, "\n");
  for (const std::uint8_t byte : has.pipelineCacheUUID) all += text(int{byte}, " ");
  return all + "\n";
}

class Milliseconds {
 public:
  double passed() const { return std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
};

const gpu::Target& target_of(const PhysicalDevice& device) {
  if (!device.features.shaderInt64) return gpu::kVulkanWordsTarget;
  return controls_halves(device) ? gpu::kVulkanHalvesTarget : gpu::kVulkanTarget;
}

}  // namespace

// ---- programs ------------------------------------------------------------------------------------------------------

Program::Program(Ref<Context> context, gpu::Kernel kernel, VkPipeline pipeline)
    : context_(std::move(context)), kernel_(without_body(std::move(kernel))), pipeline_(pipeline) {}

Program::~Program() {
  if (!context_->is_abandoned()) context_->api().DestroyPipeline(context_->device(), pipeline_, nullptr);
}

std::vector<std::uint64_t> Program::passed(std::int64_t blocks, std::span<const std::uint64_t> arguments) const {
  // Elements that are parts of words lie in whole words.
  gpu::LoweredArguments given =
      gpu::lowered_arguments(kernel_, blocks, arguments, [](std::uint64_t address) { return address / 4 * 4; });
  require<DeviceError>(given.arguments.size() == kernel_.words().back(), context_->name(), ": kernel ", name(),
                       " takes ", kernel_.words().back(), " arguments, got ", given.arguments.size());
  for (std::size_t i = 0; i < given.uniform.size(); i += 2)
    given.arguments.push_back(given.uniform[i] | std::uint64_t{i + 1 < given.uniform.size() ? given.uniform[i + 1] : 0}
                                                     << 32);
  return std::move(given.arguments);
}

// ---- compiling -----------------------------------------------------------------------------------------------------

Compiler::Compiler(Ref<Context> context, gpu::CodeCache cache)
    : context_(std::move(context)),
      cache_(std::move(cache)),
      controls_(float_controls_of(context_->physical())),
      target_(target_of(context_->physical())),
      driver_(identity_of(context_->physical())),
      logs_(is_logged("vulkan")) {}

Ref<Program> Compiler::compile(const gpu::Kernel& kernel) const {
  const std::string name = context_->name();
  std::string text;
  try {
    text = gpu::print(kernel, target_).text;
  } catch (const DTypeError& error) {  // GLSL has few functions of float64
    throw gpu::Refused({gpu::Refusal::Reason::Type, kiln::text(name, ": kernel ", kernel.name, ": ", error.message())});
  } catch (const ArgumentError& error) { refuse(kiln::text(name, ": kernel ", error.message())); }
  text.insert(text.find('\n') + 1, controls_);  // behind #version
  return compile(kernel, text);
}

Ref<Program> Compiler::compile(const gpu::Kernel& kernel, const std::string& text) const {
  context_->demand_alive();
  const std::vector<std::uint32_t> words = spirv(kernel.name, text);
  return make_ref<Program>(context_, kernel, pipeline(kernel.name, text, words, context_->sets_lanes()));
}

Ref<Program> Compiler::compile(const gpu::TextKernel& kernel) const {
  context_->demand_alive();
  constexpr std::size_t kMost = gpu::kPushedBytes / sizeof(std::uint64_t);
  require<DeviceError>(kernel.parameters() <= kMost, context_->name(), ": kernel ", kernel.name, " has ",
                       kernel.parameters(), " parameters, a kernel written in GLSL at most ", kMost);
  gpu::Kernel passes{.name = kernel.name};
  // Nobody knows which elements a text touches: all that its buffers point to counts as read and written.
  passes.parameters.assign(kernel.buffers, {gpu::Parameter::Kind::Both, DType::U32});
  passes.parameters.insert(passes.parameters.end(), kernel.numbers, {gpu::Parameter::Kind::Number, DType::I64});
  const std::vector<std::uint32_t> words = spirv(kernel.name, kernel.text);
  return make_ref<Program>(context_, std::move(passes), pipeline(kernel.name, kernel.text, words, false));
}

std::vector<std::uint32_t> Compiler::spirv(const std::string& name, const std::string& text) const {
  const Milliseconds time;
  const std::string key = "SPIR-V 1.5, matrices 2, by " + glslang_version() + "\n" + text;
  std::vector<std::uint32_t> words;
  if (const std::optional<std::vector<std::byte>> kept = cache_.find(key); kept && kept->size() % 4 == 0) {
    words.resize(kept->size() / 4);
    std::memcpy(words.data(), kept->data(), kept->size());
    return words;
  }
  try {
    words = spirv_of(name, text);
  } catch (const DeviceError& error) { refuse(kiln::text(context_->name(), ": ", error.message())); }
  cache_.keep(key, std::as_bytes(std::span(words)));
  if (logs_)
    std::fprintf(stderr, "kiln: %s: %s: SPIR-V in %.1f ms\n", context_->name().c_str(), name.c_str(), time.passed());
  return words;
}

// Each kernel has a cache of the driver's by itself, so that processes that share the folder do not undo each other's.
VkPipeline Compiler::pipeline(const std::string& name, const std::string& text, std::span<const std::uint32_t> words,
                              bool sets_lanes) const {
  const Milliseconds time;
  const Api& api = context_->api();
  const VkDevice device = context_->device();
  const std::string key = "pipeline of " + driver_ + glslang_version() + "\n" + text;
  const std::vector<std::byte> kept = cache_.find(key).value_or(std::vector<std::byte>());

  auto code = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  code.codeSize = words.size_bytes();
  code.pCode = words.data();
  auto known = structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  known.initialDataSize = kept.size();
  known.pInitialData = kept.data();
  VkShaderModule module = nullptr;
  VkPipelineCache cache = nullptr;
  VkPipeline made = nullptr;
  VkResult result = api.CreateShaderModule(device, &code, nullptr, &module);
  if (result == VK_SUCCESS) result = api.CreatePipelineCache(device, &known, nullptr, &cache);
  if (result == VK_SUCCESS) result = create(module, cache, sets_lanes, &made);
  if (result == VK_SUCCESS && kept.empty()) {
    std::size_t bytes = 0;
    api.GetPipelineCacheData(device, cache, &bytes, nullptr);
    std::vector<std::byte> data(bytes);
    // A driver that keeps nothing gives a header alone.
    if (bytes > sizeof(VkPipelineCacheHeaderVersionOne) &&
        api.GetPipelineCacheData(device, cache, &bytes, data.data()) == VK_SUCCESS)
      cache_.keep(key, std::span(data).first(bytes));
  }
  if (cache) api.DestroyPipelineCache(device, cache, nullptr);
  if (module) api.DestroyShaderModule(device, module, nullptr);
  if (result == VK_ERROR_DEVICE_LOST || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
      result == VK_ERROR_OUT_OF_HOST_MEMORY)
    context_->check(result, "compiling kernel ", name);
  if (result != VK_SUCCESS || !made)
    refuse(kiln::text(context_->name(), ": kernel ", name, " is refused by the driver of ",
                      context_->physical().model(), ": ", name_of(result), "\nIts text:\n", text));
  if (logs_)
    std::fprintf(stderr, "kiln: %s: %s: pipeline%s in %.1f ms\n", context_->name().c_str(), name.c_str(),
                 kept.empty() ? "" : ", kept on disk,", time.passed());
  return made;
}

VkResult Compiler::create(VkShaderModule module, VkPipelineCache cache, bool sets_lanes, VkPipeline* pipeline) const {
  auto lanes = structure<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
  lanes.requiredSubgroupSize = gpu::kLanes;
  auto info = structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  if (sets_lanes) {  // and none of them missing, as a thread's lane is its number in the block modulo 32
    info.stage.pNext = &lanes;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = context_->layout();
  return context_->api().CreateComputePipelines(context_->device(), cache, 1, &info, nullptr, pipeline);
}

}  // namespace kiln::vulkan
