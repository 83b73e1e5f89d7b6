// What goes wrong, by functions in the place of Vulkan's.
#include <cstdlib>
#include <thread>

#include "kiln/backend/gpu/kernel/refusal.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/ops/devices.hpp"
#include "tests/backend/vulkan/machine.hpp"

namespace kiln::vulkan::test {
namespace {

template <class F>
std::string sentence_of(F&& f) {
  try {
    f();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "no error";
}

bool has(const std::string& sentence, std::string_view part) { return sentence.find(part) != std::string::npos; }

// ---- no device -----------------------------------------------------------------------------------------------------

TEST(VulkanFaults, NameTheLoaderThatIsMissing) {
  const std::string said = sentence_of([] { (void)load_api({"libno-such-vulkan.so.1"}); });
  EXPECT_TRUE(has(said, "DeviceError: vulkan: ")) << said;
  EXPECT_TRUE(has(said, "libno-such-vulkan.so.1") && has(said, "libvulkan1")) << said;
}

/// The table of the machine's loader, or nothing.
std::optional<Api> loaded() {
  try {
    return load_api();
  } catch (const Error&) { return std::nullopt; }
}
#define KILN_NEEDS_LOADER()                          \
  const std::optional<Api> found = loaded();         \
  if (!found) GTEST_SKIP() << "no loader of Vulkan"; \
  Api api = *found

TEST(VulkanFaults, NameTheDriverThatIsMissing) {
  KILN_NEEDS_LOADER();
  api.CreateInstance = [](const VkInstanceCreateInfo*, const VkAllocationCallbacks*, VkInstance*) {
    return VK_ERROR_INCOMPATIBLE_DRIVER;
  };
  const std::string said = sentence_of([&] { const Instance instance(api, false); });
  EXPECT_TRUE(has(said, "there is no driver") && has(said, "mesa-vulkan-drivers")) << said;
}

TEST(VulkanFaults, RefuseAnOldLoader) {
  KILN_NEEDS_LOADER();
  api.EnumerateInstanceVersion = [](std::uint32_t* version) {
    *version = VK_API_VERSION_1_1;
    return VK_SUCCESS;
  };
  EXPECT_TRUE(
      has(sentence_of([&] { const Instance instance(api, false); }), "the loader has Vulkan 1.1, and 1.2 is needed"));
  api.EnumerateInstanceVersion = nullptr;
  EXPECT_TRUE(has(sentence_of([&] { const Instance instance(api, false); }), "the loader has Vulkan 1.0"));
}

// The instance finds its functions by name: one of the loader's is replaced there.
PFN_vkGetInstanceProcAddr real_find;
PFN_vkGetPhysicalDeviceProperties real_properties;
PFN_vkGetPhysicalDeviceFeatures2 real_features;

VKAPI_ATTR void VKAPI_CALL old_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties) {
  real_properties(device, properties);
  properties->apiVersion = VK_API_VERSION_1_1;
}
VKAPI_ATTR void VKAPI_CALL poor_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
  real_features(device, features);
  for (auto* each = static_cast<VkBaseOutStructure*>(features->pNext); each; each = each->pNext)
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
      reinterpret_cast<VkPhysicalDeviceVulkan12Features*>(each)->bufferDeviceAddress = VK_FALSE;
}
VKAPI_ATTR VkResult VKAPI_CALL no_devices(VkInstance, std::uint32_t* count, VkPhysicalDevice*) {
  *count = 0;
  return VK_SUCCESS;
}
template <class F>
Api with_function(Api api, const char* wanted, F* replacement) {
  static const char* name;
  static F* function;
  name = wanted;
  function = replacement;
  real_find = api.GetInstanceProcAddr;
  api.GetInstanceProcAddr = [](VkInstance instance, const char* each) {
    return std::strcmp(each, name) == 0 ? reinterpret_cast<PFN_vkVoidFunction>(function) : real_find(instance, each);
  };
  return api;
}

TEST(VulkanFaults, RefuseADeviceWithVulkan11AndSayWhatIsMissing) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_LOADER();
  real_properties = Instance::get().api().GetPhysicalDeviceProperties;
  const Api old = with_function(api, "vkGetPhysicalDeviceProperties", &old_properties);
  const std::string said = sentence_of([&] { const Instance instance(old, false); });
  EXPECT_TRUE(has(said, "it has Vulkan 1.1, and 1.2 is needed, for addresses of buffers and timeline semaphores"))
      << said;
  EXPECT_TRUE(has(said, Instance::get().devices()[0].model())) << said;
}

TEST(VulkanFaults, RefuseADeviceWithoutAddresses) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_LOADER();
  real_features = Instance::get().api().GetPhysicalDeviceFeatures2;
  const Api poor = with_function(api, "vkGetPhysicalDeviceFeatures2", &poor_features);
  EXPECT_TRUE(has(sentence_of([&] { const Instance instance(poor, false); }), "bufferDeviceAddress"));
}

TEST(VulkanFaults, SayThatThereIsNoDevice) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_LOADER();
  const Api none = with_function(api, "vkEnumeratePhysicalDevices", &no_devices);
  EXPECT_TRUE(has(sentence_of([&] { const Instance instance(none, false); }), "no driver offers one"));
}

TEST(VulkanFaults, CountTheDevicesForANumberThatIsTooLarge) {
  KILN_NEEDS_DEVICE();
  const std::string said = sentence_of([] { (void)Device::parse("vulkan:63"); });
  EXPECT_TRUE(has(said, "no device 'vulkan:63': the machine has ")) << said;
  EXPECT_THROW((void)Device::parse("vulkan:99999999999"), DeviceError);
  EXPECT_THROW((void)Device::parse("vulkan:-1"), DeviceError);
}

TEST(VulkanFaults, LeaveVulkanOutOfListsWhereItIsMissing) {
  const std::string missing = missing_device();
  if (missing.empty()) GTEST_SKIP() << "nothing is missing";  // vulkan.without_driver has less
  EXPECT_TRUE(has(missing, "DeviceError: vulkan: ")) << missing;
  EXPECT_EQ(sentence_of([] { (void)Device::parse("vulkan"); }), missing);
  for (const std::string& name : device_names()) EXPECT_FALSE(name.starts_with("vulkan")) << name;
  (void)Device::best();
}

// ---- what Device knows of it ---------------------------------------------------------------------------------------

TEST(VulkanFaults, LeaveSoftwareToThoseWhoAskForIt) {
  KILN_NEEDS_DEVICE();
  const PhysicalDevice& first = Instance::get().devices()[0];
  EXPECT_EQ(kind_of_device("vulkan"), first.kind());
  if (!first.is_software()) GTEST_SKIP() << "the first device is a GPU";
  EXPECT_EQ(first.kind(), DeviceKind::Virtual);
  if (std::getenv("KILN_DEVICE")) GTEST_SKIP() << "KILN_DEVICE names one";
  EXPECT_NE(Device::best().name(), "vulkan");
}

// ---- a device that fails ----------------------------------------------------------------------------------------

/// A driver whose table of functions `change` has changed.
Ref<Driver> changed(std::function<void(Api&)> change, std::chrono::milliseconds patience = std::chrono::minutes(1)) {
  return make_ref<Driver>(Instance::get(), 0, ContextOptions{std::move(change), patience},
                          gpu::CodeCache(std::nullopt));
}

PFN_vkQueueSubmit real_submit;
std::atomic<int> submits_left;
VKAPI_ATTR VkResult VKAPI_CALL lost_submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence) {
  return submits_left-- > 0 ? real_submit(queue, count, infos, fence) : VK_ERROR_DEVICE_LOST;
}

TEST(VulkanFaults, SayThatADeviceIsLostAndStayThere) {
  KILN_NEEDS_DEVICE();
  submits_left = 2;
  const Ref<Driver> lost = changed([](Api& api) {
    real_submit = api.QueueSubmit;
    api.QueueSubmit = &lost_submit;
  });
  std::byte* const block = lost->memory().map(4096);
  std::vector<std::byte> bytes(100);
  lost->upload(block, bytes);
  lost->synchronize();
  lost->download(block, 100)->wait(bytes.data());
  const Ref<gpu::Transfer> transfer = lost->download(block, 100);
  const std::string said = sentence_of([&] { transfer->wait(bytes.data()); });
  EXPECT_TRUE(has(said, "DeviceError: vulkan: ") && has(said, "is lost") && has(said, "VK_ERROR_DEVICE_LOST")) << said;
  EXPECT_TRUE(transfer->ready());
  EXPECT_THROW(lost->upload(block, bytes), DeviceError);
  EXPECT_THROW(lost->synchronize(), DeviceError);
  EXPECT_THROW((void)lost->compile(scale_kernel()), DeviceError);
  EXPECT_THROW((void)lost->memory().map(4096), DeviceError);
  EXPECT_FALSE(lost->memory().unmap(block, 4096));
}

TEST(VulkanFaults, EndAWaitForADeviceThatIsLost) {
  KILN_NEEDS_DEVICE();
  const Ref<Driver> lost = changed([](Api& api) {
    api.WaitSemaphores = [](VkDevice, const VkSemaphoreWaitInfo*, std::uint64_t) { return VK_ERROR_DEVICE_LOST; };
  });
  std::byte* const block = lost->memory().map(4096);
  lost->clear(block, 4096);
  const std::string said = sentence_of([&] { lost->synchronize(); });
  EXPECT_TRUE(has(said, "is lost")) << said;
  EXPECT_THROW(lost->synchronize(), DeviceError);
}

TEST(VulkanFaults, EndAWaitForADeviceThatStandsStill) {
  KILN_NEEDS_DEVICE();
  static PFN_vkGetSemaphoreCounterValue real_value;
  static std::atomic<bool> stands;
  stands = true;
  const Ref<Driver> still = changed(
      [](Api& api) {
        real_value = api.GetSemaphoreCounterValue;
        api.WaitSemaphores = [](VkDevice, const VkSemaphoreWaitInfo*, std::uint64_t) { return VK_TIMEOUT; };
        api.GetSemaphoreCounterValue = [](VkDevice device, VkSemaphore semaphore, std::uint64_t* value) {
          *value = 0;
          return stands ? VK_SUCCESS : real_value(device, semaphore, value);
        };
      },
      std::chrono::milliseconds(50));
  std::byte* const block = still->memory().map(4096);
  still->clear(block, 4096);
  const Ref<gpu::Transfer> transfer = still->download(block, 16);
  EXPECT_FALSE(transfer->ready());
  const std::string said = sentence_of([&] { still->synchronize(); });
  EXPECT_TRUE(has(said, "is lost") && has(said, "completed nothing for")) << said;
  EXPECT_TRUE(transfer->ready());  // with an error
  static std::atomic<bool> told;
  transfer->notify({[](void*) { told = true; }, nullptr});
  EXPECT_TRUE(told);
  // What was started goes on in truth, and must end before its memory does.
  stands = false;
  for (std::uint64_t done = 0; done == 0; std::this_thread::yield())
    still->context().api().GetSemaphoreCounterValue(still->context().device(), still->context().timeline(), &done);
}

TEST(VulkanFaults, SayThatMemoryHasRunOut) {
  KILN_NEEDS_DEVICE();
  static PFN_vkAllocateMemory real_allocate;
  static std::atomic<bool> full;
  full = false;
  const Ref<Driver> driver = changed([](Api& api) {
    real_allocate = api.AllocateMemory;
    api.AllocateMemory = [](VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* with,
                            VkDeviceMemory* memory) {
      return full ? VK_ERROR_OUT_OF_DEVICE_MEMORY : real_allocate(device, info, with, memory);
    };
  });
  std::byte* const block = driver->memory().map(4096);
  full = true;
  EXPECT_EQ(driver->memory().map(4096), nullptr);  // pools know what to do
  const std::string said = sentence_of([&] { (void)driver->download(block, 4096); });
  EXPECT_TRUE(has(said, "MemoryError: vulkan: no memory is left") && has(said, "smaller batches")) << said;
  full = false;
  driver->clear(block, 4096);
  std::vector<std::byte> bytes(4096, std::byte{1});
  driver->download(block, 4096)->wait(bytes.data());
  EXPECT_EQ(bytes, std::vector<std::byte>(4096));
}

TEST(VulkanFaults, AbandonADeviceThatNeverEnds) {
  KILN_NEEDS_DEVICE();
  static std::atomic<int> destroyed;
  destroyed = 0;
  {
    const Ref<Driver> still = changed(
        [](Api& api) {
          api.QueueSubmit = [](VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence) { return VK_SUCCESS; };
          api.DestroyDevice = [](VkDevice, const VkAllocationCallbacks*) { ++destroyed; };
        },
        std::chrono::milliseconds(20));
    std::byte* const block = still->memory().map(4096);
    still->clear(block, 4096);
    EXPECT_THROW(still->synchronize(), DeviceError);
  }
  EXPECT_EQ(destroyed, 0);
}

// ---- kernels that compilers refuse ----------------------------------------------------------------------------------

TEST(VulkanFaults, ShowWhatGlslangRefuses) {
  KILN_NEEDS_DEVICE();
  const std::string said = sentence_of([&] {
    (void)driver().compiler().compile(scale_kernel("broken"), "#version 450\nvoid main() { no_such_function(); }\n");
  });
  EXPECT_TRUE(has(said, "kernel broken is refused by glslang") && has(said, "no_such_function")) << said;
  EXPECT_TRUE(has(said, "Its text:\n#version 450")) << said;
}

TEST(VulkanFaults, ShowWhatTheDriverRefuses) {
  KILN_NEEDS_DEVICE();
  const Ref<Driver> refusing = changed([](Api& api) {
    api.CreateComputePipelines = [](VkDevice, VkPipelineCache, std::uint32_t, const VkComputePipelineCreateInfo*,
                                    const VkAllocationCallbacks*, VkPipeline*) { return VK_ERROR_INVALID_SHADER_NV; };
  });
  try {
    (void)refusing->compile(scale_kernel());
    ADD_FAILURE();
  } catch (const gpu::Refused& refused) {
    EXPECT_TRUE(has(refused.what(), "kernel scale is refused by the driver of ")) << refused.what();
    EXPECT_TRUE(has(refused.what(), "VK_ERROR_INVALID_SHADER_NV\nIts text:\n#version 450")) << refused.what();
    EXPECT_EQ(refused.reason(), gpu::Refusal::Reason::Limit);
  }
}

}  // namespace
}  // namespace kiln::vulkan::test
