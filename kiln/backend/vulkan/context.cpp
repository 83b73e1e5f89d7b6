#include "kiln/backend/vulkan/context.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/backend/vulkan/capabilities.hpp"
#include "kiln/backend/vulkan/matrices.hpp"

namespace kiln::vulkan {
namespace {

constexpr std::uint32_t kWarp = gpu::kLanes;

bool can_set_lanes(const PhysicalDevice& device) {
  return device.size_control.subgroupSizeControl && device.size_control.computeFullSubgroups &&
         device.sizes.minSubgroupSize <= kWarp && kWarp <= device.sizes.maxSubgroupSize &&
         (device.sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
}

}  // namespace

Context::Context(const Instance& instance, int index, const ContextOptions& options)
    : physical_(instance.device(index)),
      name_(index ? text("vulkan:", index) : "vulkan"),
      api_(instance.api()),
      patience_(options.patience),
      sets_lanes_(can_set_lanes(physical_)) {
  open();
  // A constructor that throws has no destructor.
  try {
    api_.find_of_device(device_);
    if (options.change) options.change(api_);
    api_.GetDeviceQueue(device_, physical_.queue_family, 0, &queue_);
    make_layout();
    make_timeline();
  } catch (...) {
    destroy();
    throw;
  }
}

// The queue has waited for the device (Queue::~Queue), unless the device is abandoned.
Context::~Context() {
  if (!abandoned_) destroy();
}

void Context::destroy() noexcept {
  if (!api_.DestroyDevice) return;
  if (layout_) api_.DestroyPipelineLayout(device_, layout_, nullptr);
  if (timeline_) api_.DestroySemaphore(device_, timeline_, nullptr);
  if (device_) api_.DestroyDevice(device_, nullptr);
}

void Context::open() {
  const VkPhysicalDeviceFeatures& has = physical_.features;
  const VkPhysicalDeviceVulkan12Features& has12 = physical_.features12;
  VkPhysicalDeviceSubgroupSizeControlFeatures sizes{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
      .pNext = nullptr,
      .subgroupSizeControl = VK_TRUE,
      .computeFullSubgroups = VK_TRUE};
  auto features12 = structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                                sets_lanes_ ? &sizes : nullptr);
  // Matrices belong to warps of 32 threads.
  MatrixFeatures matrices(sets_lanes_ ? physical_.matrices : MatrixUnits{});
  features12.pNext = matrices.before(features12.pNext);
  if (!matrices.extensions().empty())
    features12.vulkanMemoryModel = features12.vulkanMemoryModelDeviceScope = features12.shaderFloat16 = VK_TRUE;
  features12.shaderFloat16 = features12.shaderFloat16 || controls_halves(physical_);
  features12.bufferDeviceAddress = features12.timelineSemaphore = VK_TRUE;
  features12.storageBuffer8BitAccess = has12.storageBuffer8BitAccess;
  features12.shaderBufferInt64Atomics = has12.shaderBufferInt64Atomics;
  features12.shaderSharedInt64Atomics = has12.shaderSharedInt64Atomics;
  features12.shaderInt8 = has12.shaderInt8;
  features12.shaderSubgroupExtendedTypes = has12.shaderSubgroupExtendedTypes;
  auto features11 =
      structure<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &features12);
  features11.storageBuffer16BitAccess = physical_.features11.storageBuffer16BitAccess;
  auto features = structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features11);
  features.features.shaderInt64 = has.shaderInt64;
  features.features.shaderFloat64 = has.shaderFloat64;
  features.features.shaderInt16 = has.shaderInt16;

  std::vector<const char*> extensions = matrices.extensions();
  constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";  // must be asked for where it is
  if (physical_.has(kPortabilitySubset)) extensions.push_back(kPortabilitySubset);
  if (sets_lanes_ && physical_.properties.apiVersion < VK_API_VERSION_1_3)
    extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .pNext = nullptr,
                                      .flags = 0,
                                      .queueFamilyIndex = physical_.queue_family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &features,
                                .flags = 0,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue,
                                .enabledLayerCount = 0,
                                .ppEnabledLayerNames = nullptr,
                                .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                .ppEnabledExtensionNames = extensions.data(),
                                .pEnabledFeatures = nullptr};
  const VkResult result = api_.CreateDevice(physical_.handle, &info, nullptr, &device_);
  require<DeviceError>(result == VK_SUCCESS, name_, ": the driver of ", physical_.model(), " does not open it, ",
                       name_of(result), "; another program may hold it");
}

void Context::make_layout() {
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, gpu::kPushedBytes};
  const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                        .pNext = nullptr,
                                        .flags = 0,
                                        .setLayoutCount = 0,
                                        .pSetLayouts = nullptr,
                                        .pushConstantRangeCount = 1,
                                        .pPushConstantRanges = &range};
  check(api_.CreatePipelineLayout(device_, &info, nullptr, &layout_), "describing the arguments of kernels");
}

void Context::make_timeline() {
  const VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, nullptr,
                                       VK_SEMAPHORE_TYPE_TIMELINE, 0};
  const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
  check(api_.CreateSemaphore(device_, &info, nullptr, &timeline_), "making its time line");
}

// ---- errors --------------------------------------------------------------------------------------------------------

void Context::lose(const std::string& reason, bool by_driver) const {
  const std::lock_guard lock(mutex_);
  lost_by_driver_ |= by_driver;
  if (!lost_) lost_ = reason;
}

bool Context::is_lost() const {
  const std::lock_guard lock(mutex_);
  return lost_.has_value();
}

void Context::demand_alive() const {
  const std::lock_guard lock(mutex_);
  if (lost_)
    fail<DeviceError>(name_, ": ", physical_.model(), " is lost: ", *lost_,
                      "; what was computed on it is gone, and the program must be started again");
}

void Context::raise_error(VkResult result, const std::string& doing) const {
  if (result == VK_ERROR_DEVICE_LOST) {
    lose(
        text("while ", doing,
             " the driver gave it up (a kernel that ran too long, a driver that was reset or updated, or a device that "
             "was removed)"),
        true);
    demand_alive();
  }
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
    fail<MemoryError>(name_, ": no memory is left for ", doing, " (", name_of(result),
                      "); use smaller batches, or end other programs that use the device");
  fail<DeviceError>(name_, ": ", doing, " failed: ", name_of(result));
}

void Context::settle(std::uint64_t value) const noexcept {
  std::uint64_t now = 0;
  const VkResult result = api_.GetSemaphoreCounterValue(device_, timeline_, &now);
  if (result == VK_SUCCESS && now >= value) return;
  // A driver that has given a device up ends its work.
  if (const std::lock_guard lock(mutex_); lost_by_driver_ || result == VK_ERROR_DEVICE_LOST)
    api_.DeviceWaitIdle(device_);
  else abandoned_ = true;
}

// ---- the time line -------------------------------------------------------------------------------------------------

bool Context::reached(std::uint64_t value) const {
  if (is_lost()) return true;
  std::uint64_t now = 0;
  const VkResult result = api_.GetSemaphoreCounterValue(device_, timeline_, &now);
  if (result == VK_SUCCESS) return now >= value;
  lose(text("asked how far it is, the driver answers ", name_of(result)));
  return true;
}

void Context::wait_for(std::uint64_t value) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kLook = 200'000'000;  // ns
  const VkSemaphoreWaitInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                 .pNext = nullptr,
                                 .flags = 0,
                                 .semaphoreCount = 1,
                                 .pSemaphores = &timeline_,
                                 .pValues = &value};
  std::uint64_t last = 0;
  Clock::time_point since = Clock::now();
  for (;;) {
    demand_alive();
    const auto longest = static_cast<std::uint64_t>(std::chrono::nanoseconds(patience_).count());
    const VkResult result = api_.WaitSemaphores(device_, &info, std::min(kLook, longest));
    if (result == VK_SUCCESS) return;
    if (result != VK_TIMEOUT) check(result, "waiting for it");
    std::uint64_t now = 0;
    check(api_.GetSemaphoreCounterValue(device_, timeline_, &now), "asking how far it is");
    if (now >= value) return;
    if (now != last) {
      last = now;
      since = Clock::now();
    } else if (Clock::now() - since >= patience_) {
      lose(text("it has completed nothing for ", std::chrono::duration_cast<std::chrono::seconds>(patience_).count(),
                " s"));
    }
  }
}

}  // namespace kiln::vulkan
