#include "kiln/backend/vulkan/api.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/core/system/shared_library.hpp"

namespace kiln::vulkan {
namespace {

template <class F>
void take(F& function, PFN_vkVoidFunction found, const char* name) {
  require<DeviceError>(found != nullptr, "vulkan: the driver has no function ", name,
                       ", which Vulkan 1.2 requires; install a newer driver of the GPU");
  function = reinterpret_cast<F>(found);
}

}  // namespace

void Api::find_of_instance(VkInstance instance) {
#define KILN_VULKAN_FIND(name) take(name, GetInstanceProcAddr(instance, "vk" #name), "vk" #name);
  KILN_VULKAN_INSTANCE(KILN_VULKAN_FIND)
#undef KILN_VULKAN_FIND
  CreateDebugUtilsMessengerEXT = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      GetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
  DestroyDebugUtilsMessengerEXT = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
      GetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT"));
}

void Api::find_of_device(VkDevice device){
#define KILN_VULKAN_FIND(name) take(name, GetDeviceProcAddr(device, "vk" #name), "vk" #name);
    KILN_VULKAN_DEVICE(KILN_VULKAN_FIND)
#undef KILN_VULKAN_FIND
}

Api load_api(std::initializer_list<const char*> names) {
  const SharedLibrary library("vulkan", "finds Vulkan's drivers", names,
                              "install Vulkan's loader (Debian: libvulkan1) and the GPU's driver");
  Api api;
  library.find("vkGetInstanceProcAddr", api.GetInstanceProcAddr);
#define KILN_VULKAN_FIND(name) take(api.name, api.GetInstanceProcAddr(nullptr, "vk" #name), "vk" #name);
  KILN_VULKAN_GLOBAL(KILN_VULKAN_FIND)
#undef KILN_VULKAN_FIND
  api.EnumerateInstanceVersion =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(api.GetInstanceProcAddr(nullptr, "vkEnumerateInstanceVersion"));
  return api;
}

std::string_view name_of(VkResult result) {
  switch (result) {
#define KILN_VULKAN_NAME(name) \
  case name: return #name;
    KILN_VULKAN_NAME(VK_SUCCESS)
    KILN_VULKAN_NAME(VK_NOT_READY)
    KILN_VULKAN_NAME(VK_TIMEOUT)
    KILN_VULKAN_NAME(VK_INCOMPLETE)
    KILN_VULKAN_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    KILN_VULKAN_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    KILN_VULKAN_NAME(VK_ERROR_INITIALIZATION_FAILED)
    KILN_VULKAN_NAME(VK_ERROR_DEVICE_LOST)
    KILN_VULKAN_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    KILN_VULKAN_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    KILN_VULKAN_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    KILN_VULKAN_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    KILN_VULKAN_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    KILN_VULKAN_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    KILN_VULKAN_NAME(VK_ERROR_FRAGMENTATION)
    KILN_VULKAN_NAME(VK_ERROR_INVALID_SHADER_NV)
#undef KILN_VULKAN_NAME
    default: return "an error of an extension, or one that is not known";
  }
}

}  // namespace kiln::vulkan
