#include "kiln/backend/vulkan/capabilities.hpp"

#include <algorithm>

#include "kiln/backend/gpu/driver.hpp"

namespace kiln::vulkan {
namespace {

using gpu::Types;

constexpr Types kBytes{DType::I8, DType::U8, DType::Bool}, kHalves{DType::I16, DType::U16, DType::F16, DType::BF16},
    kWords{DType::F32, DType::I32, DType::U32};

gpu::Lanes lanes_of(const Context& context) {
  const PhysicalDevice& device = context.physical();
  const VkPhysicalDeviceVulkan11Properties& has = device.subgroups;
  if (!(has.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) ||
      !(has.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) ||
      !device.features12.shaderSubgroupExtendedTypes)
    return {0, 0};
  if (context.sets_lanes()) return {gpu::kLanes, gpu::kLanes};
  // A pipeline that does not ask gets this size, but perhaps not with all threads in it.
  const auto size = static_cast<int>(has.subgroupSize);
  return device.is_software() ? gpu::Lanes{size, size} : gpu::Lanes{0, 0};
}

int most_threads_of(const Context& context) {
  const PhysicalDevice& device = context.physical();
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  std::uint32_t most = std::min({limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0], 1024u});
  if (context.sets_lanes()) most = std::min(most, device.sizes.maxComputeWorkgroupSubgroups * gpu::kLanes);
  return static_cast<int>(most);
}

/// The largest memory of the device's own.
std::int64_t memory_of(const Context& context) {
  auto properties = structure<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  const bool has_budget = context.physical().has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (has_budget) properties.pNext = &budget;
  context.api().GetPhysicalDeviceMemoryProperties2(context.physical().handle, &properties);
  VkDeviceSize most = 0;
  for (std::uint32_t i = 0; i < properties.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = properties.memoryProperties.memoryHeaps[i];
    if (!(heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)) continue;
    most = std::max(most, has_budget ? std::min(budget.heapBudget[i], heap.size) : heap.size);
  }
  return static_cast<std::int64_t>(most - most / 16);  // pipelines and staging take some of it
}

}  // namespace

gpu::Capabilities capabilities_of(const Context& context) {
  const PhysicalDevice& device = context.physical();
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  Types wide;
  if (device.features.shaderInt64) wide = wide | Types{DType::I64, DType::U64};
  if (device.features.shaderFloat64) wide = wide | Types{DType::F64};
  Types narrow, updates{DType::I32, DType::U32}, updates_shared = updates;
  if (device.features12.storageBuffer8BitAccess && device.features12.shaderInt8) narrow = narrow | kBytes;
  if (device.features11.storageBuffer16BitAccess && device.features.shaderInt16) narrow = narrow | kHalves;
  if (device.features12.shaderBufferInt64Atomics && device.features.shaderInt64)
    updates = updates | Types{DType::I64, DType::U64};
  if (device.features12.shaderSharedInt64Atomics && device.features.shaderInt64)
    updates_shared = updates_shared | Types{DType::I64, DType::U64};
  const auto blocks = [&](int i) { return std::min<std::int64_t>(limits.maxComputeWorkGroupCount[i], INT32_MAX); };
  return {.computes = kWords | Types{DType::Bool} | wide,
          .loads = kWords | wide | narrow,
          .stores = kWords | wide | narrow,
          .shares = kWords | wide | narrow,
          .updates = updates,
          .updates_shared = updates_shared,
          .lanes = lanes_of(context),
          .most_threads = most_threads_of(context),
          .shared_memory = limits.maxComputeSharedMemorySize,
          .matrices = context.sets_lanes() ? std::span<const gpu::Fragment>(device.matrices.fragments)
                                           : std::span<const gpu::Fragment>(),
          .most_blocks = {blocks(0), blocks(1), blocks(2)},
          // If no extension tells, there is enough work for all of a large one.
          .multiprocessors = device.multiprocessors > 0                ? static_cast<int>(device.multiprocessors)
                             : device.is_software()                    ? 2
                             : device.kind() == DeviceKind::Integrated ? 16
                                                                       : 64,
          .memory = memory_of(context)};
}

bool controls_halves(const PhysicalDevice& device) {
  const VkPhysicalDeviceVulkan12Properties& has = device.driver;
  return device.features12.shaderFloat16 && device.features.shaderInt16 && has.shaderDenormPreserveFloat16 &&
         has.shaderSignedZeroInfNanPreserveFloat16 && has.shaderRoundingModeRTEFloat16 &&
         has.denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL &&
         has.roundingModeIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
}

// Numbers of SPIR-V's specification: capabilities DenormPreserve 4464, SignedZeroInfNanPreserve 4466 and
// RoundingModeRTE 4467; execution modes 4459, 4461 and 4462. Their operand is the width of the floats.
std::string float_controls_of(const PhysicalDevice& device) {
  const VkPhysicalDeviceVulkan12Properties& has = device.driver;
  std::string modes;
  const auto add = [&](int capability, int mode, VkBool32 single, VkBool32 wide) {
    if (controls_halves(device))
      modes += text("spirv_execution_mode(capabilities = [", capability, "], ", mode, ", 16);\n");
    if (single) modes += text("spirv_execution_mode(capabilities = [", capability, "], ", mode, ", 32);\n");
    if (wide && device.features.shaderFloat64)
      modes += text("spirv_execution_mode(capabilities = [", capability, "], ", mode, ", 64);\n");
  };
  // A mode of one width that holds for the others too is not asked for: they may not have it.
  const bool of_each = has.denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL,
             rounds_each = has.roundingModeIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
  if (of_each) add(4464, 4459, has.shaderDenormPreserveFloat32, has.shaderDenormPreserveFloat64);
  add(4466, 4461, has.shaderSignedZeroInfNanPreserveFloat32, has.shaderSignedZeroInfNanPreserveFloat64);
  if (rounds_each) add(4467, 4462, has.shaderRoundingModeRTEFloat32, has.shaderRoundingModeRTEFloat64);
  return modes.empty() ? modes : "#extension GL_EXT_spirv_intrinsics : require\n" + modes;
}

}  // namespace kiln::vulkan
