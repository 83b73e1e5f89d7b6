#include "kiln/backend/vulkan/instance.hpp"

#include "kiln/backend/vulkan/matrices.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "kiln/core/error/error.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::vulkan {
namespace {

std::atomic<int> messages{0};

constexpr bool counts(VkDebugUtilsMessageSeverityFlagBitsEXT severity) {
  return severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
}

// The loader itself tells of drivers that it could not open, which is nothing of ours.
VKAPI_ATTR VkBool32 VKAPI_CALL hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                    VkDebugUtilsMessageTypeFlagsEXT types,
                                    const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  if (!counts(severity) ||
      !(types & (VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT)))
    return VK_FALSE;
  ++messages;
  std::fprintf(stderr, "kiln: vulkan: validation: %s\n", data->pMessage);
  if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) std::_Exit(70);
  return VK_FALSE;
}

constexpr VkDebugUtilsMessengerCreateInfoEXT kHearing{
    VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
    nullptr,
    0,
    VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
    VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
        VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
    &hear,
    nullptr};

/// The result of a function that fills an array: `list(&count, data)`.
template <class T, class List>
std::vector<T> listed(List&& list) {
  std::uint32_t count = 0;
  std::vector<T> all;
  if (list(&count, static_cast<T*>(nullptr)) != VK_SUCCESS || count == 0) return all;
  all.resize(count);
  const VkResult result = list(&count, all.data());
  all.resize(result == VK_SUCCESS || result == VK_INCOMPLETE ? count : 0);
  return all;
}

std::string version_text(std::uint32_t version) {
  return text(VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version));
}

/// What the device lacks of what every kernel needs; empty: nothing.
std::string missing_of(const PhysicalDevice& device) {
  if (device.properties.apiVersion < VK_API_VERSION_1_2)
    return text("it has Vulkan ", version_text(device.properties.apiVersion),
                ", and 1.2 is needed, for addresses of buffers and timeline semaphores");
  if (!device.features12.bufferDeviceAddress) return "it lacks addresses of buffers (bufferDeviceAddress)";
  if (!device.features12.timelineSemaphore) return "it lacks timeline semaphores (timelineSemaphore)";
  if (device.queue_family == UINT32_MAX) return "it has no queue that computes";
  return {};
}

/// The multiprocessors that a driver of NVIDIA's or AMD's tells by an extension of its own.
std::uint32_t multiprocessors_of(const Api& api, const PhysicalDevice& device) {
  auto properties = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  if (device.has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{};
    nvidia.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV;
    properties.pNext = &nvidia;
    api.GetPhysicalDeviceProperties2(device.handle, &properties);
    return nvidia.shaderSMCount;
  }
  if (device.has(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) {
    VkPhysicalDeviceShaderCorePropertiesAMD amd{};
    amd.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD;
    properties.pNext = &amd;
    api.GetPhysicalDeviceProperties2(device.handle, &properties);
    return amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
  }
  return 0;
}

PhysicalDevice described(const Api& api, VkInstance instance, VkPhysicalDevice handle) {
  PhysicalDevice device{.handle = handle};
  api.GetPhysicalDeviceProperties(handle, &device.properties);
  device.queue_family = UINT32_MAX;
  if (device.properties.apiVersion < VK_API_VERSION_1_2) return device;

  for (const VkExtensionProperties& each : listed<VkExtensionProperties>([&](std::uint32_t* count, auto* data) {
         return api.EnumerateDeviceExtensionProperties(handle, nullptr, count, data);
       }))
    device.extensions.push_back(each.extensionName);
  const bool has_sizes =
      device.properties.apiVersion >= VK_API_VERSION_1_3 || device.has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);

  device.sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
  device.driver = structure<VkPhysicalDeviceVulkan12Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
                                                                has_sizes ? &device.sizes : nullptr);
  device.subgroups = structure<VkPhysicalDeviceVulkan11Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, &device.driver);
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &device.subgroups, {}};
  api.GetPhysicalDeviceProperties2(handle, &properties);

  device.size_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  device.features12 = structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                                  has_sizes ? &device.size_control : nullptr);
  device.features11 = structure<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                                                  &device.features12);
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &device.features11, {}};
  api.GetPhysicalDeviceFeatures2(handle, &features);
  device.features = features.features;
  // The structures are copied from here on.
  device.sizes.pNext = device.driver.pNext = device.subgroups.pNext = nullptr;
  device.size_control.pNext = device.features12.pNext = device.features11.pNext = nullptr;

  device.matrices = matrix_units_of(api, instance, device);
  device.multiprocessors = multiprocessors_of(api, device);

  const auto families = listed<VkQueueFamilyProperties>([&](std::uint32_t* count, auto* data) {
    api.GetPhysicalDeviceQueueFamilyProperties(handle, count, data);
    return VK_SUCCESS;
  });
  for (std::size_t i = families.size(); i-- > 0;)
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) device.queue_family = static_cast<std::uint32_t>(i);
  return device;
}

}  // namespace

int validation_messages() { return messages; }

DeviceKind PhysicalDevice::kind() const {
  switch (properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceKind::Discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceKind::Integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceKind::Virtual;
    default: return DeviceKind::Other;
  }
}

bool PhysicalDevice::has(std::string_view extension) const {
  return std::ranges::find(extensions, extension) != extensions.end();
}

const Instance& Instance::get() {
  static const Instance* const instance = new Instance(load_api(), is_set("KILN_VULKAN_VALIDATE", false));
  return *instance;
}

Instance::Instance(Api api, bool validates) : api_(api) {
  // A constructor that throws has no destructor.
  try {
    create(validates);
    find_devices();
  } catch (...) {
    destroy();
    throw;
  }
}

Instance::~Instance() { destroy(); }

void Instance::destroy() noexcept {
  if (messenger_ && api_.DestroyDebugUtilsMessengerEXT)
    api_.DestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (instance_ && api_.DestroyInstance) api_.DestroyInstance(instance_, nullptr);
}

void Instance::create(bool validates) {
  std::uint32_t version = VK_API_VERSION_1_0;
  if (api_.EnumerateInstanceVersion) api_.EnumerateInstanceVersion(&version);
  require<DeviceError>(version >= VK_API_VERSION_1_2, "vulkan: the loader has Vulkan ", version_text(version),
                       ", and 1.2 is needed; install a newer one (Debian: libvulkan1)");
  std::vector<const char*> extensions;
  bool hears = false;
  VkInstanceCreateFlags flags = 0;
  for (const VkExtensionProperties& each : listed<VkExtensionProperties>([&](std::uint32_t* count, auto* data) {
         return api_.EnumerateInstanceExtensionProperties(nullptr, count, data);
       })) {
    const std::string_view name = each.extensionName;
    if (validates && name == VK_EXT_DEBUG_UTILS_EXTENSION_NAME) {
      extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
      hears = true;
    }
    if (name != VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) continue;
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);  // MoltenVK's devices hide otherwise
    flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pNext = nullptr,
                                      .pApplicationName = "kiln",
                                      .applicationVersion = 0,
                                      .pEngineName = "kiln",
                                      .engineVersion = 0,
                                      .apiVersion = std::min<std::uint32_t>(version, VK_API_VERSION_1_3)};
  const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pNext = hears ? &kHearing : nullptr,
                                  .flags = flags,
                                  .pApplicationInfo = &application,
                                  .enabledLayerCount = 0,
                                  .ppEnabledLayerNames = nullptr,
                                  .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                  .ppEnabledExtensionNames = extensions.data()};
  const VkResult result = api_.CreateInstance(&info, nullptr, &instance_);
  require<DeviceError>(result == VK_SUCCESS, "vulkan: ",
                       result == VK_ERROR_INCOMPATIBLE_DRIVER
                           ? "there is no driver: install the GPU's (Debian: mesa-vulkan-drivers has several, and one "
                             "that runs on the processor), or mend what VK_ICD_FILENAMES and VK_DRIVER_FILES name"
                           : text("Vulkan does not start, ", name_of(result)));
  api_.find_of_instance(instance_);
  if (hears && api_.CreateDebugUtilsMessengerEXT)
    api_.CreateDebugUtilsMessengerEXT(instance_, &kHearing, nullptr, &messenger_);
}

void Instance::find_devices() {
  std::string reasons;
  for (VkPhysicalDevice handle : listed<VkPhysicalDevice>([&](std::uint32_t* count, VkPhysicalDevice* data) {
         return api_.EnumeratePhysicalDevices(instance_, count, data);
       })) {
    PhysicalDevice device = described(api_, instance_, handle);
    const std::string missing = missing_of(device);
    if (missing.empty()) devices_.push_back(std::move(device));
    else reasons += text(reasons.empty() ? "" : "; ", device.model(), ": ", missing);
  }
  const auto place = [](const PhysicalDevice& device) {
    switch (device.properties.deviceType) {
      case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
      case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
      case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
      case VK_PHYSICAL_DEVICE_TYPE_CPU: return 4;
      default: return 3;
    }
  };
  std::ranges::stable_sort(devices_, {}, place);
  require<DeviceError>(!devices_.empty(), "vulkan: there is no device that can be used (",
                       reasons.empty() ? "no driver offers one" : reasons,
                       "); install a driver with Vulkan 1.2 for the GPU");
}

const PhysicalDevice& Instance::device(int index) const {
  require<DeviceError>(0 <= index && static_cast<std::size_t>(index) < devices_.size(), "no device 'vulkan:", index,
                       "': the machine has ", devices_.size(), " that Vulkan can use, from 'vulkan' on");
  return devices_[static_cast<std::size_t>(index)];
}

}  // namespace kiln::vulkan
