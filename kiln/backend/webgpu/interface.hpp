// The part of WebGPU's C interface that is used, declared here so that the build needs no header of anybody's. Names
// and numbers are those of "webgpu.h" (webgpu-native/webgpu-headers); what moved between implementations is a row of
// provider.hpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kiln::webgpu {

using InstanceHandle = struct WGPUInstanceImpl*;
using AdapterHandle = struct WGPUAdapterImpl*;
using DeviceHandle = struct WGPUDeviceImpl*;
using QueueHandle = struct WGPUQueueImpl*;
using BufferHandle = struct WGPUBufferImpl*;
using ModuleHandle = struct WGPUShaderModuleImpl*;
using PipelineHandle = struct WGPUComputePipelineImpl*;
using GroupLayoutHandle = struct WGPUBindGroupLayoutImpl*;
using PipelineLayoutHandle = struct WGPUPipelineLayoutImpl*;
using GroupHandle = struct WGPUBindGroupImpl*;
using EncoderHandle = struct WGPUCommandEncoderImpl*;
using PassHandle = struct WGPUComputePassEncoderImpl*;
using CommandsHandle = struct WGPUCommandBufferImpl*;

using Flags = std::uint64_t;
using Truth = std::uint32_t;

// WGPUStatus, WGPURequestAdapterStatus, WGPURequestDeviceStatus, WGPUMapAsyncStatus, WGPUPopErrorScopeStatus
inline constexpr std::uint32_t kSuccess = 1;
// WGPUCallbackMode: callbacks run in process_events(), in other calls where the implementation wants that, or in both.
inline constexpr std::uint32_t kAllowProcessEvents = 2;
// WGPUErrorFilter
inline constexpr std::uint32_t kFilterValidation = 1, kFilterOutOfMemory = 2;
// WGPUErrorType
inline constexpr std::uint32_t kNoError = 1, kOutOfMemory = 3;
// WGPUBackendType
inline constexpr std::uint32_t kNull = 1;
// WGPUAdapterType
inline constexpr std::uint32_t kDiscrete = 1, kIntegrated = 2, kProcessor = 3;
// WGPUPowerPreference
inline constexpr std::uint32_t kHighPerformance = 2;
// WGPUBufferUsage
inline constexpr Flags kMapRead = 1, kCopySource = 4, kCopyTarget = 8, kUniform = 0x40, kStorage = 0x80;
inline constexpr Flags kMapForReading = 1;     // WGPUMapMode
inline constexpr Flags kVisibleToKernels = 4;  // WGPUShaderStage
// WGPUBufferBindingType
inline constexpr std::uint32_t kUniformBinding = 2, kStorageBinding = 3;
// WGPUSType
inline constexpr std::uint32_t kSourceOfWgsl = 2;

/// WGPUStringView
struct Words {
  const char* data = nullptr;
  std::size_t length = SIZE_MAX;  // up to the first zero byte; no words at all where data is null
  Words() = default;
  Words(std::string_view words) : data(words.data()), length(words.size()) {}
  std::string_view view() const {
    if (!data) return {};
    return length == SIZE_MAX ? std::string_view(data) : std::string_view(data, length);
  }
};

/// WGPUChainedStruct
struct Chained {
  Chained* next = nullptr;
  std::uint32_t type = 0;
};

/// WGPUFuture
struct FutureNumber {
  std::uint64_t id;
};

/// WGPUInstanceDescriptor, with room for what implementations have in it; all of it may be zero.
struct InstanceDescriptor {
  Chained* next = nullptr;
  std::uint64_t zeros[7] = {};
};

/// WGPURequestAdapterOptions
struct AdapterOptions {
  Chained* next = nullptr;
  std::uint32_t feature_level = 0, power = 0;
  Truth force_fallback = 0;
  std::uint32_t backend = 0;
  void* surface = nullptr;
};

/// WGPUAdapterInfo, with room for more.
struct AdapterInfo {
  Chained* next = nullptr;
  Words vendor{}, architecture{}, device{}, description{};
  std::uint32_t backend = 0, type = 0, vendor_number = 0, device_number = 0;
  std::uint32_t least_lanes = 0, most_lanes = 0;
  std::uint64_t more[4] = {};
};

/// WGPULimits, with room for more: what an adapter says is passed back to it as a whole.
struct Limits {
  Chained* next = nullptr;
  std::uint32_t textures[4] = {};
  std::uint32_t bind_groups = 0, bind_groups_plus_vertex_buffers = 0, bindings_per_group = 0;
  std::uint32_t dynamic_uniforms = 0, dynamic_storages = 0, sampled_textures = 0, samplers = 0;
  std::uint32_t storage_buffers = 0, storage_textures = 0, uniform_buffers = 0;
  std::uint64_t uniform_bytes = 0, storage_bytes = 0;
  std::uint32_t uniform_alignment = 0, storage_alignment = 0, vertex_buffers = 0;
  std::uint64_t buffer_bytes = 0;
  std::uint32_t vertices[5] = {};
  std::uint32_t shared_bytes = 0, threads = 0, threads_x = 0, threads_y = 0, threads_z = 0, blocks = 0;
  std::uint32_t more[16] = {};
};
static_assert(sizeof(void*) != 8 || offsetof(Limits, blocks) == 144);

// ---- callbacks, with their second pointer unused ----

using AdapterCallback = void (*)(std::uint32_t status, AdapterHandle, Words, void* to, void*);
using DeviceCallback = void (*)(std::uint32_t status, DeviceHandle, Words, void* to, void*);
using MapCallback = void (*)(std::uint32_t status, Words, void* to, void*);
using ScopeCallback = void (*)(std::uint32_t status, std::uint32_t type, Words, void* to, void*);
using LostCallback = void (*)(const DeviceHandle*, std::uint32_t reason, Words, void* to, void*);
using ErrorCallback = void (*)(const DeviceHandle*, std::uint32_t type, Words, void* to, void*);

template <class Function>
struct Callback {  // WGPURequestAdapterCallbackInfo and the others
  Chained* next = nullptr;
  std::uint32_t mode = kAllowProcessEvents;
  Function call = nullptr;
  void* to = nullptr;
  void* unused = nullptr;
};
struct ErrorCallbackInfo {  // WGPUUncapturedErrorCallbackInfo
  Chained* next = nullptr;
  ErrorCallback call = nullptr;
  void* to = nullptr;
  void* unused = nullptr;
};

// ---- descriptors ----

struct DeviceDescriptor {
  Chained* next = nullptr;
  Words label{};
  std::size_t feature_count = 0;
  const std::uint32_t* features = nullptr;
  const Limits* limits = nullptr;
  Chained* queue_next = nullptr;
  Words queue_label{};
  Callback<LostCallback> lost{};
  ErrorCallbackInfo error{};
};
struct BufferDescriptor {
  Chained* next = nullptr;
  Words label{};
  Flags usage = 0;
  std::uint64_t size = 0;
  Truth mapped = 0;
};
struct WgslSource {
  Chained chain{nullptr, kSourceOfWgsl};
  Words code{};
};
struct LabelledDescriptor {  // of shader modules, encoders, command buffers
  Chained* next = nullptr;
  Words label{};
};
struct PassDescriptor {
  Chained* next = nullptr;
  Words label{};
  const void* timestamps = nullptr;
};
struct BufferLayout {
  Chained* next = nullptr;
  std::uint32_t type = 0;
  Truth dynamic = 0;
  std::uint64_t least_bytes = 0;
};
struct GroupLayoutEntry {
  Chained* next = nullptr;
  std::uint32_t binding = 0;
  Flags visibility = kVisibleToKernels;
  std::uint32_t array_size = 0;
  BufferLayout buffer{};
  struct {
    Chained* next = nullptr;
    std::uint32_t type = 0;
  } sampler{};
  struct {
    Chained* next = nullptr;
    std::uint32_t type = 0, dimension = 0;
    Truth multisampled = 0;
  } texture{};
  struct {
    Chained* next = nullptr;
    std::uint32_t access = 0, format = 0, dimension = 0;
  } storage_texture{};
};
struct GroupLayoutDescriptor {
  Chained* next = nullptr;
  Words label{};
  std::size_t count = 0;
  const GroupLayoutEntry* entries = nullptr;
};
struct PipelineLayoutDescriptor {
  Chained* next = nullptr;
  Words label{};
  std::size_t count = 0;
  const GroupLayoutHandle* groups = nullptr;
  std::uint32_t immediate_bytes = 0;
};
struct PipelineDescriptor {
  Chained* next = nullptr;
  Words label{};
  PipelineLayoutHandle layout = nullptr;
  struct {
    Chained* next = nullptr;
    ModuleHandle module = nullptr;
    Words entry{};
    std::size_t constant_count = 0;
    const void* constants = nullptr;
  } compute{};
};
struct GroupEntry {
  Chained* next = nullptr;
  std::uint32_t binding = 0;
  BufferHandle buffer = nullptr;
  std::uint64_t offset = 0, size = 0;
  void* sampler = nullptr;
  void* texture = nullptr;
};
struct GroupDescriptor {
  Chained* next = nullptr;
  Words label{};
  GroupLayoutHandle layout = nullptr;
  std::size_t count = 0;
  const GroupEntry* entries = nullptr;
};

}  // namespace kiln::webgpu
