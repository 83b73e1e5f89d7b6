#include "kiln/backend/rocm/hip.hpp"

#include <array>

#include "kiln/core/setting/setting.hpp"

namespace kiln::rocm {
namespace {

constexpr const char* kRemedy = "install AMD's ROCm (Debian: libamdhip64-5)";
constexpr Result kNoDevice = 100, kInvalidDevice = 101;  // hipError_t

/// Functions of HIP that have no counterpart of the same form in the CUDA driver.
struct Hip {
  Result (*init)(unsigned flags);
  Result (*get_device_count)(int* count);
  const char* (*get_error_name)(Result error);
  const char* (*get_error_string)(Result error);
  Result (*get_device)(int* device);
  Result (*set_device)(int device);
  Result (*get_properties)(void* properties, int device);
};
Hip hip{};

const SharedLibrary& library() {
  static const SharedLibrary opened("rocm", "drives AMD's GPUs",
                                    {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
                                    kRemedy);
  return opened;
}

// A context is a device of HIP's, counted from 1.
ContextHandle context_of(int device) { return reinterpret_cast<ContextHandle>(std::intptr_t{device} + 1); }
int device_of(ContextHandle context) { return static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1; }

void adapt(DriverApi& api, const SharedLibrary& from) {
  from.find("hipInit", hip.init);
  from.find("hipGetDeviceCount", hip.get_device_count);
  from.find("hipGetErrorName", hip.get_error_name);
  from.find("hipGetErrorString", hip.get_error_string);
  from.find("hipGetDevice", hip.get_device);
  from.find("hipSetDevice", hip.set_device);
  from.find_if_there("hipGetDevicePropertiesR0600", hip.get_properties);
  if (!hip.get_properties) from.find("hipGetDeviceProperties", hip.get_properties);
  // A machine without AMD's GPUs has none of them, which is no failure of the driver.
  api.init = [](unsigned flags) {
    const Result result = hip.init(flags);
    return result == kNoDevice || result == kInvalidDevice ? kSuccess : result;
  };
  api.device_get_count = [](int* count) {
    const Result result = hip.get_device_count(count);
    if (result != kNoDevice) return result;
    *count = 0;
    return kSuccess;
  };
  api.get_error_name = [](Result error, const char** name) { return *name = hip.get_error_name(error), kSuccess; };
  api.get_error_string = [](Result error, const char** words) {
    return *words = hip.get_error_string(error), kSuccess;
  };
  api.primary_context_retain = [](ContextHandle* context, DeviceNumber device) {
    return *context = context_of(device), kSuccess;
  };
  api.primary_context_release = [](DeviceNumber) { return kSuccess; };
  api.context_get_current = [](ContextHandle* context) {
    int device = 0;
    const Result result = hip.get_device(&device);
    return *context = context_of(device), result;
  };
  api.context_set_current = [](ContextHandle context) { return hip.set_device(device_of(context)); };
}

DriverApi functions_of(const SharedLibrary& from) {
  DriverApi api{};  // no graphs, whose nodes HIP describes in another way
  api.device = "rocm";
  api.own_name = "HIP";
  adapt(api, from);
  from.find_if_there("hipDriverGetVersion", api.driver_get_version);
  from.find("hipDeviceGet", api.device_get);
  from.find("hipDeviceGetAttribute", api.device_get_attribute);
  from.find("hipDeviceGetName", api.device_get_name);
  from.find("hipDeviceGetUuid", api.device_get_id);
  from.find("hipDeviceGetStreamPriorityRange", api.context_get_priorities);
  from.find("hipStreamCreateWithPriority", api.stream_create);
  from.find("hipStreamDestroy", api.stream_destroy);
  from.find("hipStreamSynchronize", api.stream_synchronize);
  from.find("hipStreamWaitEvent", api.stream_wait_event);
  from.find("hipEventCreateWithFlags", api.event_create);
  from.find("hipEventDestroy", api.event_destroy);
  from.find("hipEventRecord", api.event_record);
  from.find("hipEventQuery", api.event_query);
  from.find("hipEventSynchronize", api.event_synchronize);
  from.find("hipEventElapsedTime", api.event_elapsed);
  from.find("hipMemGetInfo", api.memory_get_info);
  from.find("hipMalloc", api.memory_alloc);
  from.find("hipFree", api.memory_free);
  from.find("hipHostMalloc", api.host_alloc);
  from.find("hipHostFree", api.host_free);
  from.find("hipMemcpyHtoDAsync", api.copy_to_device);
  from.find("hipMemcpyDtoHAsync", api.copy_to_host);
  from.find("hipMemcpyDtoDAsync", api.copy_on_device);
  from.find("hipMemsetD8Async", api.fill);
  from.find("hipModuleLoadData", api.module_load_data);
  from.find("hipModuleUnload", api.module_unload);
  from.find("hipModuleGetFunction", api.module_get_function);
  from.find("hipModuleLaunchKernel", api.launch_kernel);
  from.find_if_there("hipModuleLaunchCooperativeKernel", api.launch_together);
  return api;
}

/// HIPRTC's own version has been 9.0 in all releases.
std::string build_of_hip() {
  Result (*version_of)(int* version) = nullptr;
  try {
    library().find_if_there("hipRuntimeGetVersion", version_of);
  } catch (const DeviceError&) {}  // a compiler alone compiles, too
  int version = 0;
  return version_of && version_of(&version) == kSuccess ? text(" of HIP ", version) : "";
}

SharedLibrary open_compiler() {
  constexpr const char* kPurpose = "compiles kernels";
  if (const char* const file = setting("KILN_HIPRTC")) return SharedLibrary("rocm", kPurpose, {file}, kRemedy);
  // In some versions, the driver's library has the compiler.
  return SharedLibrary("rocm", kPurpose,
                       {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", "libamdhip64.so.5"},
                       kRemedy);
}

}  // namespace

// If it throws, the next call tries again.
const DriverApi& driver_api() {
  static const DriverApi& api = []() -> const DriverApi& {
    static const DriverApi opened = functions_of(library());
    start(opened);
    return opened;
  }();
  return api;
}

int device_count() { return streams::device_count(driver_api()); }

std::string architecture_in(std::span<const char> properties) {
  constexpr std::size_t kName = 256;
  if (properties.size() <= kName) return "";
  const std::string_view rest(properties.data() + kName, properties.size() - kName);
  const std::size_t at = rest.find("gfx");
  return at == rest.npos ? "" : std::string(rest.substr(at, rest.find('\0', at) - at));
}

std::string architecture_of(const Stream& stream) {
  std::array<char, 16384> properties{};
  stream.check(hip.get_properties(properties.data(), stream.number()), "asking for the device's properties");
  std::string architecture = architecture_in(properties);
  require<DeviceError>(!architecture.empty(), stream.device(), ": HIP does not say the device's architecture (gfx...)");
  return architecture;
}

const RuntimeCompiler& hiprtc() {
  static const RuntimeCompiler opened(open_compiler(), {"rocm", "HIPRTC", "hiprtc", "Code", ".hip", build_of_hip()});
  return opened;
}

Compiler compiler_for(const std::string& architecture, gpu::CodeCache cache) {
  return Compiler(hiprtc, {"--offload-arch=" + architecture, "-std=c++17"}, std::move(cache));
}

}  // namespace kiln::rocm
