// Instance: Vulkan as this program uses it, and the devices that its drivers offer.
#pragma once
#include <string>
#include <vector>

#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/vulkan/api.hpp"
#include "kiln/ops/devices.hpp"

namespace kiln::vulkan {

/// The matrices that warps of a device hold (matrices.hpp).
struct MatrixUnits {
  /// Those that kernels can use: factors of halves, and sums in float32.
  std::vector<gpu::Fragment> fragments{};
  bool bfloat16 = false;
};

/// A device as its driver describes it.
struct PhysicalDevice {
  VkPhysicalDevice handle = nullptr;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceVulkan11Properties subgroups{};
  VkPhysicalDeviceVulkan12Properties driver{};  // its name, and what it does with floats
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{};
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceSubgroupSizeControlFeatures size_control{};
  std::vector<std::string> extensions{};
  MatrixUnits matrices{};
  std::uint32_t multiprocessors = 0;  // 0: it does not say
  std::uint32_t queue_family = 0;     // one that computes and copies

  std::string model() const { return properties.deviceName; }
  DeviceKind kind() const;
  /// Is it a program that runs on the processor? Such a device is there for tests.
  bool is_software() const { return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  bool has(std::string_view extension) const;
};

class Instance {
 public:
  /// Created on first use and never destroyed. Throws DeviceError where there is no loader, no driver or no device that
  /// can be used; the sentence says what is missing.
  static const Instance& get();
  /// `validates`: asks for messages of the layers that the environment's VK_INSTANCE_LAYERS names (validation_messages()).
  Instance(Api api, bool validates);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Api& api() const { return api_; }
  VkInstance handle() const { return instance_; }
  /// Those that can be used: GPUs with memory of their own come first, software last.
  const std::vector<PhysicalDevice>& devices() const { return devices_; }
  /// Device `index`. Throws DeviceError, with the number of devices, where there is none.
  const PhysicalDevice& device(int index) const;

 private:
  void create(bool validates);
  void destroy() noexcept;
  void find_devices();

  Api api_;
  VkInstance instance_ = nullptr;
  VkDebugUtilsMessengerEXT messenger_ = nullptr;
  std::vector<PhysicalDevice> devices_;
};

/// How many warnings and errors the validation layers have reported in this process (KILN_VULKAN_VALIDATE=1). Each is
/// printed on the standard error, and an error ends the program.
int validation_messages();

}  // namespace kiln::vulkan
