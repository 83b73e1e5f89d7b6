// The functions of a driver with streams, events, modules and graphs that are used: NVIDIA's CUDA driver, or AMD's HIP,
// which took over its functions. Declared here so that the build needs neither. Comments name types by "CUDA Driver
// API", NVIDIA's reference.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/core/error/error.hpp"

namespace kiln::streams {

using Address = unsigned long long;  // CUdeviceptr
using DeviceNumber = int;            // CUdevice
using ContextHandle = struct CUctx_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using GraphHandle = struct CUgraph_st*;
using NodeHandle = struct CUgraphNode_st*;
using ExecutableHandle = struct CUgraphExec_st*;

/// CUresult. get_error_name gives the names of others.
using Result = int;
inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;

// CUfunction_attribute
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;
// Flags
inline constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2, kHostAllocPortable = 1;

// CUstreamCaptureMode: other threads are not restricted.
inline constexpr int kCaptureRelaxed = 2;

/// CUuuid: identifies a GPU among all that exist.
struct DeviceId {
  char bytes[16];
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNode {
  FunctionHandle function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** parameters;
  void** extra = nullptr;
  void* kernel = nullptr;
  ContextHandle context = nullptr;
};

/// Functions are those of both makers, but for those that "null" is said of.
struct DriverApi {
  const char* device = nullptr;     // "cuda": the name of its devices
  const char* own_name = nullptr;   // "the CUDA driver"
  std::size_t fewest_launches = 4;  // of a list that is quicker as a graph, where there are graphs

  Result (*init)(unsigned flags);
  Result (*get_error_name)(Result error, const char** name);
  Result (*get_error_string)(Result error, const char** words);

  /// Null where the driver does not tell.
  Result (*driver_get_version)(int* version) = nullptr;
  Result (*device_get_count)(int* count);
  Result (*device_get)(DeviceNumber* device, int ordinal);
  Result (*device_get_attribute)(int* value, int attribute, DeviceNumber device);
  Result (*device_get_name)(char* name, int bytes, DeviceNumber device);
  Result (*device_get_id)(DeviceId* id, DeviceNumber device);
  Result (*primary_context_retain)(ContextHandle* context, DeviceNumber device);
  Result (*primary_context_release)(DeviceNumber device);
  Result (*context_get_current)(ContextHandle* context);
  Result (*context_set_current)(ContextHandle context);

  Result (*context_get_priorities)(int* least, int* greatest);  // greatest is the smaller number

  Result (*stream_create)(StreamHandle* stream, unsigned flags, int priority);
  Result (*stream_destroy)(StreamHandle stream);
  Result (*stream_synchronize)(StreamHandle stream);
  Result (*stream_wait_event)(StreamHandle stream, EventHandle event, unsigned flags);
  Result (*event_create)(EventHandle* event, unsigned flags);
  Result (*event_destroy)(EventHandle event);
  Result (*event_record)(EventHandle event, StreamHandle stream);
  Result (*event_query)(EventHandle event);
  Result (*event_synchronize)(EventHandle event);
  Result (*event_elapsed)(float* milliseconds, EventHandle from, EventHandle to);

  Result (*memory_get_info)(std::size_t* free, std::size_t* total);
  Result (*memory_alloc)(Address* address, std::size_t bytes);
  Result (*memory_free)(Address address);
  Result (*host_alloc)(void** memory, std::size_t bytes, unsigned flags);
  Result (*host_free)(void* memory);
  Result (*copy_to_device)(Address to, const void* from, std::size_t bytes, StreamHandle stream);
  Result (*copy_to_host)(void* to, Address from, std::size_t bytes, StreamHandle stream);
  Result (*copy_on_device)(Address to, Address from, std::size_t bytes, StreamHandle stream);
  /// Null where memory is copied between devices by the host, as for the two that follow.
  Result (*copy_between)(Address to, ContextHandle to_context, Address from, ContextHandle from_context,
                         std::size_t bytes, StreamHandle stream) = nullptr;
  Result (*can_access)(int* can, DeviceNumber device, DeviceNumber other);
  Result (*enable_access)(ContextHandle other, unsigned flags);  // for the current context
  Result (*fill)(Address start, unsigned char value, std::size_t bytes, StreamHandle stream);

  Result (*module_load_data)(ModuleHandle* module, const void* image);
  Result (*module_unload)(ModuleHandle module);
  Result (*module_get_function)(FunctionHandle* function, ModuleHandle module, const char* name);
  /// Null where any kernel may have the shared memory that a block has.
  Result (*function_set_attribute)(FunctionHandle function, int attribute, int value) = nullptr;
  /// Since driver 12.4; null before. Returns an error for an index past the last parameter.
  Result (*function_get_parameter)(FunctionHandle function, std::size_t index, std::size_t* offset,
                                   std::size_t* bytes) = nullptr;
  Result (*launch_kernel)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,
                          void** parameters, void** extra);
  /// Null where blocks cannot wait for each other.
  Result (*launch_together)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                            StreamHandle stream, void** parameters) = nullptr;

  /// Null where there are no graphs, as for those that follow.
  Result (*begin_capture)(StreamHandle stream, int mode) = nullptr;
  Result (*end_capture)(StreamHandle stream, GraphHandle* graph);
  Result (*get_capture_info)(StreamHandle stream, int* status, std::uint64_t* id, GraphHandle* graph,
                             const NodeHandle** last, std::size_t* count);
  Result (*graph_instantiate)(ExecutableHandle* executable, GraphHandle graph, unsigned long long flags);
  Result (*graph_set_kernel)(ExecutableHandle executable, NodeHandle node, const KernelNode* kernel);
  Result (*graph_launch)(ExecutableHandle executable, StreamHandle stream);
  Result (*graph_destroy)(GraphHandle graph);
  Result (*graph_destroy_executable)(ExecutableHandle executable);
};

/// Initialises the driver. Throws DeviceError if it does not start.
void start(const DriverApi& api);

/// The number of devices. Throws DeviceError if the driver cannot tell.
int device_count(const DriverApi& api);

/// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
std::string words_of(const DriverApi& api, Result error);

inline Address address_of(const std::byte* memory) { return reinterpret_cast<Address>(memory); }
/// The largest power of two up to `most`, also a power of two, that divides the address.
inline std::uint32_t alignment_of(const std::byte* memory, std::uint32_t most) {
  const auto bits = static_cast<std::uint32_t>(address_of(memory)) | most;
  return bits & -bits;
}

}  // namespace kiln::streams
