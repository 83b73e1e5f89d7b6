#include "kiln/backend/cuda/driver_api.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::cuda {

DriverApi::DriverApi(const SharedLibrary& library) {
  library.find("cuInit", init);
  library.find("cuGetErrorName", get_error_name);
  library.find("cuGetErrorString", get_error_string);
  library.find("cuDeviceGetCount", device_get_count);
  library.find("cuDeviceGet", device_get);
  library.find("cuDeviceGetAttribute", device_get_attribute);
  library.find("cuDeviceGetName", device_get_name);
  library.find("cuDeviceGetUuid_v2", device_get_id);
  library.find("cuDevicePrimaryCtxRetain", primary_context_retain);
  library.find("cuDevicePrimaryCtxRelease_v2", primary_context_release);
  library.find("cuCtxGetCurrent", context_get_current);
  library.find("cuCtxSetCurrent", context_set_current);
  library.find("cuCtxGetStreamPriorityRange", context_get_priorities);
  library.find("cuStreamCreateWithPriority", stream_create);
  library.find("cuStreamDestroy_v2", stream_destroy);
  library.find("cuStreamSynchronize", stream_synchronize);
  library.find("cuStreamWaitEvent", stream_wait_event);
  library.find("cuEventCreate", event_create);
  library.find("cuEventDestroy_v2", event_destroy);
  library.find("cuEventRecord", event_record);
  library.find("cuEventQuery", event_query);
  library.find("cuEventSynchronize", event_synchronize);
  library.find("cuEventElapsedTime", event_elapsed);
  library.find("cuMemGetInfo_v2", memory_get_info);
  library.find("cuMemAlloc_v2", memory_alloc);
  library.find("cuMemFree_v2", memory_free);
  library.find("cuMemHostAlloc", host_alloc);
  library.find("cuMemFreeHost", host_free);
  library.find("cuMemcpyHtoDAsync_v2", copy_to_device);
  library.find("cuMemcpyDtoHAsync_v2", copy_to_host);
  library.find("cuMemcpyDtoDAsync_v2", copy_on_device);
  library.find("cuMemsetD8Async", fill);
  library.find("cuModuleLoadData", module_load_data);
  library.find("cuModuleUnload", module_unload);
  library.find("cuModuleGetFunction", module_get_function);
  library.find("cuFuncSetAttribute", function_set_attribute);
  library.find_if_there("cuFuncGetParamInfo", function_get_parameter);
  library.find("cuLaunchKernel", launch_kernel);
  library.find("cuLaunchCooperativeKernel", launch_together);
  library.find("cuStreamBeginCapture_v2", begin_capture);
  library.find("cuStreamEndCapture", end_capture);
  library.find("cuStreamGetCaptureInfo_v2", get_capture_info);
  library.find("cuGraphInstantiateWithFlags", graph_instantiate);
  library.find("cuGraphExecKernelNodeSetParams_v2", graph_set_kernel);
  library.find("cuGraphLaunch", graph_launch);
  library.find("cuGraphDestroy", graph_destroy);
  library.find("cuGraphExecDestroy", graph_destroy_executable);
}

std::string words_of(const DriverApi& api, Result error) {
  const char *name = nullptr, *words = nullptr;
  if (api.get_error_name(error, &name) != kSuccess || !name) return text("error ", error);
  if (api.get_error_string(error, &words) != kSuccess || !words) return name;
  return text(name, ": ", words);
}

// If it throws, the next call tries again.
const DriverApi& driver_api() {
  static const DriverApi& api = []() -> const DriverApi& {
    static const SharedLibrary library("cuda", "drives NVIDIA's GPUs", {"libcuda.so.1"},
                                       "it comes with NVIDIA's driver (Debian: libcuda1; Ubuntu: nvidia-driver-580)");
    static const DriverApi opened(library);
    const Result result = opened.init(0);
    require<DeviceError>(result == kSuccess, "cuda: the driver does not start: ", words_of(opened, result));
    return opened;
  }();
  return api;
}

int device_count() {
  const DriverApi& api = driver_api();
  int count = 0;
  const Result result = api.device_get_count(&count);
  require<DeviceError>(result == kSuccess, "cuda: devices cannot be counted: ", words_of(api, result));
  return count;
}

}  // namespace kiln::cuda
