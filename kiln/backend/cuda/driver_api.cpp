#include "kiln/backend/cuda/driver_api.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::cuda {

namespace {

DriverApi functions_of(const SharedLibrary& library) {
  DriverApi api{};
  api.device = "cuda";
  api.own_name = "the CUDA driver";
  // Beside an H200 a launch took 4 us of the host, a graph of one to four launches 2.0, and with another argument 2.5.
  api.fewest_launches = 1;
  library.find("cuInit", api.init);
  library.find("cuGetErrorName", api.get_error_name);
  library.find("cuGetErrorString", api.get_error_string);
  library.find("cuDriverGetVersion", api.driver_get_version);
  library.find("cuDeviceGetCount", api.device_get_count);
  library.find("cuDeviceGet", api.device_get);
  library.find("cuDeviceGetAttribute", api.device_get_attribute);
  library.find("cuDeviceGetName", api.device_get_name);
  library.find("cuDeviceGetUuid_v2", api.device_get_id);
  library.find("cuDevicePrimaryCtxRetain", api.primary_context_retain);
  library.find("cuDevicePrimaryCtxRelease_v2", api.primary_context_release);
  library.find("cuCtxGetCurrent", api.context_get_current);
  library.find("cuCtxSetCurrent", api.context_set_current);
  library.find("cuCtxGetStreamPriorityRange", api.context_get_priorities);
  library.find("cuStreamCreateWithPriority", api.stream_create);
  library.find("cuStreamDestroy_v2", api.stream_destroy);
  library.find("cuStreamSynchronize", api.stream_synchronize);
  library.find("cuStreamWaitEvent", api.stream_wait_event);
  library.find("cuEventCreate", api.event_create);
  library.find("cuEventDestroy_v2", api.event_destroy);
  library.find("cuEventRecord", api.event_record);
  library.find("cuEventQuery", api.event_query);
  library.find("cuEventSynchronize", api.event_synchronize);
  library.find("cuEventElapsedTime", api.event_elapsed);
  library.find("cuMemGetInfo_v2", api.memory_get_info);
  library.find("cuMemAlloc_v2", api.memory_alloc);
  library.find("cuMemFree_v2", api.memory_free);
  library.find("cuMemHostAlloc", api.host_alloc);
  library.find("cuMemFreeHost", api.host_free);
  library.find("cuMemcpyHtoDAsync_v2", api.copy_to_device);
  library.find("cuMemcpyDtoHAsync_v2", api.copy_to_host);
  library.find("cuMemcpyDtoDAsync_v2", api.copy_on_device);
  library.find("cuMemcpyPeerAsync", api.copy_between);
  library.find("cuDeviceCanAccessPeer", api.can_access);
  library.find("cuCtxEnablePeerAccess", api.enable_access);
  library.find("cuMemsetD8Async", api.fill);
  library.find("cuModuleLoadData", api.module_load_data);
  library.find("cuModuleUnload", api.module_unload);
  library.find("cuModuleGetFunction", api.module_get_function);
  library.find("cuFuncSetAttribute", api.function_set_attribute);
  library.find_if_there("cuFuncGetParamInfo", api.function_get_parameter);
  library.find("cuLaunchKernel", api.launch_kernel);
  library.find("cuLaunchCooperativeKernel", api.launch_together);
  library.find("cuStreamBeginCapture_v2", api.begin_capture);
  library.find("cuStreamEndCapture", api.end_capture);
  library.find("cuStreamGetCaptureInfo_v2", api.get_capture_info);
  library.find("cuGraphInstantiateWithFlags", api.graph_instantiate);
  library.find("cuGraphExecKernelNodeSetParams_v2", api.graph_set_kernel);
  library.find("cuGraphLaunch", api.graph_launch);
  library.find("cuGraphDestroy", api.graph_destroy);
  library.find("cuGraphExecDestroy", api.graph_destroy_executable);
  return api;
}

}  // namespace

// If it throws, the next call tries again.
const DriverApi& driver_api() {
  static const DriverApi& api = []() -> const DriverApi& {
    static const SharedLibrary library("cuda", "drives NVIDIA's GPUs", {"libcuda.so.1"},
                                       "it comes with NVIDIA's driver (Debian: libcuda1; Ubuntu: nvidia-driver-580)");
    static const DriverApi opened = functions_of(library);
    start(opened);
    return opened;
  }();
  return api;
}

int device_count() { return streams::device_count(driver_api()); }

std::string architecture_of(const Stream& stream) {
  return text("sm_", stream.attribute(kComputeCapabilityMajor), stream.attribute(kComputeCapabilityMinor));
}

}  // namespace kiln::cuda
