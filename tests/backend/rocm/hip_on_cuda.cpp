// libamdhip64, HIPRTC included, over libcuda.so.1 and NVRTC: the driver of AMD's GPUs is tested without one, over the fake
// CUDA driver on any machine, and over a real one where HIP's kernels are to run on NVIDIA's hardware.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using Address = unsigned long long;
constexpr int kSuccess = 0, kInvalidDevice = 101;

void* symbol(const char* file, const char* name) {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  void* const found = library ? ::dlsym(library, name) : nullptr;
  if (found) return found;
  std::fprintf(stderr, "hip_on_cuda: no %s in %s\n", name, file);
  std::abort();
}

thread_local int device = 0;
thread_local bool entered = false;

int enter(int wanted) {
  static const auto retain = reinterpret_cast<int (*)(void**, int)>(symbol("libcuda.so.1", "cuDevicePrimaryCtxRetain"));
  static const auto set = reinterpret_cast<int (*)(void*)>(symbol("libcuda.so.1", "cuCtxSetCurrent"));
  void* context = nullptr;
  if (const int problem = retain(&context, wanted)) return problem;
  device = wanted;
  entered = true;
  return set(context);
}

/// A function of the CUDA driver, in the context of the thread's device: HIP's are those of a device.
template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  if (!entered)
    if (const int problem = enter(0)) return problem;
  return reinterpret_cast<int (*)(Arguments...)>(symbol("libcuda.so.1", name))(arguments...);
}

template <class... Arguments>
int compile(const char* name, Arguments... arguments) {
  const char* const file = std::getenv("KILN_NVRTC");
  return reinterpret_cast<int (*)(Arguments...)>(symbol(file ? file : "libnvrtc.so.12", name))(arguments...);
}

int attribute(int number) {
  int value = 0;
  call("cuDeviceGetAttribute", &value, number, device);
  return value;
}

/// CUDA wants to be asked for more than 48 KB of a block, HIP does not.
void allow_shared_memory(void* function, unsigned bytes) {
  constexpr int kMaxDynamicSharedBytes = 8;
  if (bytes > 48 << 10) call("cuFuncSetAttribute", function, kMaxDynamicSharedBytes, static_cast<int>(bytes));
}

const char* text_of(const char* function, int error) {
  const char* words = nullptr;
  call(function, error, &words);
  return words ? words : "unknown";
}

}  // namespace

extern "C" {

int hipInit(unsigned flags) { return reinterpret_cast<int (*)(unsigned)>(symbol("libcuda.so.1", "cuInit"))(flags); }
int hipDriverGetVersion(int* version) {
  return reinterpret_cast<int (*)(int*)>(symbol("libcuda.so.1", "cuDriverGetVersion"))(version);
}
int hipGetDeviceCount(int* count) {
  return reinterpret_cast<int (*)(int*)>(symbol("libcuda.so.1", "cuDeviceGetCount"))(count);
}
const char* hipGetErrorName(int error) { return text_of("cuGetErrorName", error); }
const char* hipGetErrorString(int error) { return text_of("cuGetErrorString", error); }
int hipGetDevice(int* found) { return *found = device, kSuccess; }
int hipSetDevice(int wanted) { return enter(wanted); }
int hipDeviceGet(int* found, int ordinal) { return *found = ordinal, kSuccess; }
int hipDeviceGetAttribute(int* value, int asked, int) {
  switch (asked) {
    case 10: return *value = attribute(95), kSuccess;  // cooperative launches
    case 16: return *value = attribute(18), kSuccess;  // integrated
    case 63: return *value = attribute(16), kSuccess;  // multiprocessors
    case 74: return *value = attribute(97), kSuccess;  // shared memory of a block
    case 87: return *value = 32, kSuccess;             // lanes
    default: return kInvalidDevice;
  }
}
int hipDeviceGetName(char* name, int bytes, int) { return std::snprintf(name, std::size_t(bytes), "HIP on CUDA"), 0; }
int hipDeviceGetUuid(char* id, int number) { return call("cuDeviceGetUuid_v2", id, number); }
/// hipDeviceProp_t of ROCm 6: of its 1472 bytes, those beyond byte 1160 name the architecture.
int hipGetDevicePropertiesR0600(char* properties, int) {
  std::memset(properties, 0, 1472);
  std::strcpy(properties, "gfx in its own name");
  std::strcpy(properties + 1160, "gfx90a:sramecc+:xnack-");
  return kSuccess;
}
int hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cuCtxGetStreamPriorityRange", least, greatest);
}

int hipStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return call("cuStreamCreateWithPriority", stream, flags, priority);
}
int hipStreamDestroy(void* stream) { return call("cuStreamDestroy_v2", stream); }
int hipStreamSynchronize(void* stream) { return call("cuStreamSynchronize", stream); }
int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return call("cuStreamWaitEvent", stream, event, flags);
}
int hipEventCreateWithFlags(void** event, unsigned flags) { return call("cuEventCreate", event, flags); }
int hipEventDestroy(void* event) { return call("cuEventDestroy_v2", event); }
int hipEventRecord(void* event, void* stream) { return call("cuEventRecord", event, stream); }
int hipEventQuery(void* event) { return call("cuEventQuery", event); }
int hipEventSynchronize(void* event) { return call("cuEventSynchronize", event); }
int hipEventElapsedTime(float* time, void* from, void* to) { return call("cuEventElapsedTime", time, from, to); }

int hipMemGetInfo(std::size_t* free, std::size_t* total) { return call("cuMemGetInfo_v2", free, total); }
int hipMalloc(Address* address, std::size_t bytes) { return call("cuMemAlloc_v2", address, bytes); }
int hipFree(Address address) { return call("cuMemFree_v2", address); }
int hipHostMalloc(void** memory, std::size_t bytes, unsigned flags) {
  return call("cuMemHostAlloc", memory, bytes, flags);
}
int hipHostFree(void* memory) { return call("cuMemFreeHost", memory); }
int hipMemcpyHtoDAsync(Address to, const void* from, std::size_t bytes, void* stream) {
  return call("cuMemcpyHtoDAsync_v2", to, from, bytes, stream);
}
int hipMemcpyDtoHAsync(void* to, Address from, std::size_t bytes, void* stream) {
  return call("cuMemcpyDtoHAsync_v2", to, from, bytes, stream);
}
int hipMemcpyDtoDAsync(Address to, Address from, std::size_t bytes, void* stream) {
  return call("cuMemcpyDtoDAsync_v2", to, from, bytes, stream);
}
int hipMemsetD8Async(Address start, unsigned char value, std::size_t bytes, void* stream) {
  return call("cuMemsetD8Async", start, value, bytes, stream);
}

int hipModuleLoadData(void** module, const void* image) { return call("cuModuleLoadData", module, image); }
int hipModuleUnload(void* module) { return call("cuModuleUnload", module); }
int hipModuleGetFunction(void** function, void* module, const char* name) {
  return call("cuModuleGetFunction", function, module, name);
}
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** parameters,
                          void** extra) {
  allow_shared_memory(function, shared_bytes);
  return call("cuLaunchKernel", function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
              parameters, extra);
}
int hipModuleLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                     void* stream, void** parameters) {
  allow_shared_memory(function, shared_bytes);
  return call("cuLaunchCooperativeKernel", function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
              stream, parameters);
}

int hiprtcVersion(int* major, int* minor) { return compile("nvrtcVersion", major, minor); }
const char* hiprtcGetErrorString(int result) {
  const char* const file = std::getenv("KILN_NVRTC");
  return reinterpret_cast<const char* (*)(int)>(symbol(file ? file : "libnvrtc.so.12", "nvrtcGetErrorString"))(result);
}
int hiprtcCreateProgram(void** program, const char* source, const char* name, int headers, const char* const* contents,
                        const char* const* names) {
  const std::string text = std::string(
                               "#define __HIPCC_RTC__\n#define __shfl(x, l, w) __shfl_sync(~0u, x, l, w)\n"
                               "#define __hip_atomic_fetch_max(p, x, o, s) atomicMax(p, x)\n"
                               "#define __hip_atomic_fetch_min(p, x, o, s) atomicMin(p, x)\n") +
                           source;
  return compile("nvrtcCreateProgram", program, text.c_str(), name, headers, contents, names);
}
int hiprtcDestroyProgram(void** program) { return compile("nvrtcDestroyProgram", program); }
int hiprtcCompileProgram(void* program, int, const char* const*) {
  const std::string architecture =
      "--gpu-architecture=sm_" + std::to_string(attribute(75)) + std::to_string(attribute(76));
  const char* options[] = {architecture.c_str(), "--std=c++17", "--device-as-default-execution-space"};
  return compile("nvrtcCompileProgram", program, 3, static_cast<const char* const*>(options));
}
int hiprtcGetProgramLogSize(void* program, std::size_t* size) {
  return compile("nvrtcGetProgramLogSize", program, size);
}
int hiprtcGetProgramLog(void* program, char* log) { return compile("nvrtcGetProgramLog", program, log); }
int hiprtcGetCodeSize(void* program, std::size_t* size) { return compile("nvrtcGetCUBINSize", program, size); }
int hiprtcGetCode(void* program, char* code) { return compile("nvrtcGetCUBIN", program, code); }

}  // extern "C"
