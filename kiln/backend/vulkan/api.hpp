// The functions of Vulkan that are used, found when a program asks for a device: nothing of Vulkan is linked. Tests put
// functions of their own into the table.
#pragma once
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <initializer_list>
#include <string_view>

namespace kiln::vulkan {

#define KILN_VULKAN_GLOBAL(X) X(CreateInstance) X(EnumerateInstanceExtensionProperties)

#define KILN_VULKAN_INSTANCE(X)             \
  X(DestroyInstance)                        \
  X(EnumeratePhysicalDevices)               \
  X(GetPhysicalDeviceProperties)            \
  X(GetPhysicalDeviceProperties2)           \
  X(GetPhysicalDeviceFeatures2)             \
  X(GetPhysicalDeviceMemoryProperties2)     \
  X(GetPhysicalDeviceQueueFamilyProperties) \
  X(EnumerateDeviceExtensionProperties)     \
  X(CreateDevice)                           \
  X(GetDeviceProcAddr)

#define KILN_VULKAN_DEVICE(X)    \
  X(DestroyDevice)               \
  X(DeviceWaitIdle)              \
  X(GetDeviceQueue)              \
  X(CreateBuffer)                \
  X(DestroyBuffer)               \
  X(GetBufferMemoryRequirements) \
  X(AllocateMemory)              \
  X(FreeMemory)                  \
  X(BindBufferMemory)            \
  X(GetBufferDeviceAddress)      \
  X(MapMemory)                   \
  X(CreateShaderModule)          \
  X(DestroyShaderModule)         \
  X(CreatePipelineCache)         \
  X(GetPipelineCacheData)        \
  X(DestroyPipelineCache)        \
  X(CreatePipelineLayout)        \
  X(DestroyPipelineLayout)       \
  X(CreateComputePipelines)      \
  X(DestroyPipeline)             \
  X(CreateCommandPool)           \
  X(ResetCommandPool)            \
  X(DestroyCommandPool)          \
  X(AllocateCommandBuffers)      \
  X(BeginCommandBuffer)          \
  X(EndCommandBuffer)            \
  X(CmdBindPipeline)             \
  X(CmdPushConstants)            \
  X(CmdDispatch)                 \
  X(CmdPipelineBarrier)          \
  X(CmdCopyBuffer)               \
  X(CmdFillBuffer)               \
  X(QueueSubmit)                 \
  X(CreateSemaphore)             \
  X(DestroySemaphore)            \
  X(WaitSemaphores)              \
  X(GetSemaphoreCounterValue)

struct Api {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  PFN_vkEnumerateInstanceVersion EnumerateInstanceVersion = nullptr;  // null: Vulkan 1.0
  // These belong to an extension that is only asked for where messages of the layers are; null otherwise.
  PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT DestroyDebugUtilsMessengerEXT = nullptr;
#define KILN_VULKAN_DECLARE(name) PFN_vk##name name = nullptr;
  KILN_VULKAN_GLOBAL(KILN_VULKAN_DECLARE)
  KILN_VULKAN_INSTANCE(KILN_VULKAN_DECLARE)
  KILN_VULKAN_DEVICE(KILN_VULKAN_DECLARE)
#undef KILN_VULKAN_DECLARE

  void find_of_instance(VkInstance instance);
  void find_of_device(VkDevice device);
};

/// One of Vulkan's structures, with what it is and what is chained to it; all else is 0.
template <class T>
T structure(VkStructureType type, void* next = nullptr) {
  T made{};
  made.sType = type;
  made.pNext = next;
  return made;
}

/// Opens Vulkan's loader, by the first of these names that there is, and finds what needs no instance. Throws
/// DeviceError, which says what to install.
Api load_api(std::initializer_list<const char*> names = {"libvulkan.so.1", "libvulkan.so"});

/// "VK_ERROR_DEVICE_LOST"
std::string_view name_of(VkResult result);

}  // namespace kiln::vulkan
