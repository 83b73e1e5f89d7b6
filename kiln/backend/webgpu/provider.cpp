#include "kiln/backend/webgpu/provider.hpp"

#include <chrono>
#include <thread>

#include "kiln/core/error/error.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/core/system/shared_library.hpp"

namespace kiln::webgpu {
namespace {

constexpr std::string_view kRemedy =
    "let KILN_WEBGPU_LIBRARY name the file of wgpu-native (the Python package wgpu has libwgpu_native-release.so) or "
    "of "
    "Dawn";

constexpr std::string_view kWgpuNative29 = "wgpu-native 29", kDawnOfApril2025 = "Dawn of April 2025";

SharedLibrary open_library(const std::string& name) {
  constexpr std::string_view kPurpose = "has WebGPU's functions";
  if (!name.empty()) return SharedLibrary("webgpu", kPurpose, {name.c_str()}, kRemedy);
  return SharedLibrary("webgpu", kPurpose, {"libwgpu_native.so", "libwebgpu_dawn.so", "libwebgpu_wrapper.so"}, kRemedy);
}

bool exports(const SharedLibrary& library, const char* name) {
  void (*function)() = nullptr;
  library.find_if_there(name, function);
  return function != nullptr;
}

/// Numbers of features, and what structures hold, moved between versions, so that a guess would be dangerous.
std::string_view implementation_of(const SharedLibrary& library) {
  std::string found = "of an implementation that it does not tell";
  std::uint32_t (*version)() = nullptr;
  library.find_if_there("wgpuGetVersion", version);
  if (version && exports(library, "wgpuDevicePoll")) {
    const std::uint32_t number = version();
    if (number >> 24 == 29) return kWgpuNative29;
    found = text("wgpu-native ", number >> 24, ".", (number >> 16) & 255, ".", (number >> 8) & 255, ".", number & 255);
  } else if (exports(library, "wgpuDeviceTick")) {
    if (exports(library, "wgpuGetInstanceCapabilities") && exports(library, "wgpuComputePassEncoderSetImmediateData"))
      return kDawnOfApril2025;
    found = "Dawn of another time";
  }
  fail<DeviceError>("webgpu: ", library.name(), " is ", found, "; tried were ", kWgpuNative29, " and ",
                    kDawnOfApril2025, ", and others may number things otherwise; ", kRemedy);
}

Functions functions_of(const SharedLibrary& library) {
  Functions f{};
  library.find("wgpuCreateInstance", f.create_instance);
  library.find("wgpuInstanceRequestAdapter", f.request_adapter);
  library.find("wgpuInstanceProcessEvents", f.process_events);
  library.find("wgpuAdapterRequestDevice", f.request_device);
  library.find("wgpuAdapterGetInfo", f.adapter_info);
  library.find("wgpuAdapterGetLimits", f.adapter_limits);
  library.find("wgpuAdapterRelease", f.adapter_release);
  library.find("wgpuDeviceGetQueue", f.device_queue);
  library.find("wgpuDeviceDestroy", f.device_destroy);
  library.find("wgpuDeviceRelease", f.device_release);
  library.find("wgpuDevicePushErrorScope", f.push_scope);
  library.find("wgpuDevicePopErrorScope", f.pop_scope);
  library.find("wgpuDeviceCreateBuffer", f.create_buffer);
  library.find("wgpuBufferMapAsync", f.map);
  library.find("wgpuBufferGetConstMappedRange", f.mapped);
  library.find("wgpuBufferUnmap", f.unmap);
  library.find("wgpuBufferDestroy", f.buffer_destroy);
  library.find("wgpuBufferRelease", f.buffer_release);
  library.find("wgpuDeviceCreateShaderModule", f.create_module);
  library.find("wgpuShaderModuleRelease", f.module_release);
  library.find("wgpuDeviceCreateBindGroupLayout", f.create_group_layout);
  library.find("wgpuBindGroupLayoutRelease", f.group_layout_release);
  library.find("wgpuDeviceCreatePipelineLayout", f.create_pipeline_layout);
  library.find("wgpuPipelineLayoutRelease", f.pipeline_layout_release);
  library.find("wgpuDeviceCreateComputePipeline", f.create_pipeline);
  library.find("wgpuComputePipelineRelease", f.pipeline_release);
  library.find("wgpuDeviceCreateBindGroup", f.create_group);
  library.find("wgpuBindGroupRelease", f.group_release);
  library.find("wgpuDeviceCreateCommandEncoder", f.create_encoder);
  library.find("wgpuCommandEncoderRelease", f.encoder_release);
  library.find("wgpuCommandEncoderBeginComputePass", f.begin_pass);
  library.find("wgpuComputePassEncoderSetPipeline", f.set_pipeline);
  library.find("wgpuComputePassEncoderSetBindGroup", f.set_group);
  library.find("wgpuComputePassEncoderDispatchWorkgroups", f.dispatch);
  library.find("wgpuComputePassEncoderEnd", f.end_pass);
  library.find("wgpuComputePassEncoderRelease", f.pass_release);
  library.find("wgpuCommandEncoderCopyBufferToBuffer", f.copy);
  library.find("wgpuCommandEncoderClearBuffer", f.clear);
  library.find("wgpuCommandEncoderFinish", f.finish);
  library.find("wgpuCommandBufferRelease", f.commands_release);
  library.find("wgpuQueueSubmit", f.submit);
  library.find("wgpuQueueWriteBuffer", f.write);
  library.find_if_there("wgpuDevicePoll", f.poll);
  return f;
}

}  // namespace

void pause_thread(int turn) {
  if (turn < 64) std::this_thread::yield();
  else std::this_thread::sleep_for(std::chrono::microseconds(turn < 1024 ? 20 : 200));
}

Provider open_provider(const std::string& name) {
  const SharedLibrary library = open_library(name);
  Provider made{
      .library = library.name(), .implementation = implementation_of(library), .functions = functions_of(library)};
  const InstanceDescriptor nothing;
  made.instance = made.functions.create_instance(&nothing);
  require<DeviceError>(made.instance != nullptr, "webgpu: ", made.library, " makes no instance of WebGPU");
  return made;
}

const Provider& provider() {
  static const Provider opened = [] {
    const char* const name = setting("KILN_WEBGPU_LIBRARY");
    return open_provider(name ? name : "");
  }();
  return opened;
}

}  // namespace kiln::webgpu
