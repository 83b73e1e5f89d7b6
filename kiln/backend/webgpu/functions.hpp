// Functions: WebGPU as a table of functions. A library that is opened at run time provides them (provider.hpp), or a
// browser (browser/functions.hpp).
#pragma once
#include "kiln/backend/webgpu/interface.hpp"

namespace kiln::webgpu {

struct Functions {
  InstanceHandle (*create_instance)(const InstanceDescriptor*);
  FutureNumber (*request_adapter)(InstanceHandle, const AdapterOptions*, Callback<AdapterCallback>);
  void (*process_events)(InstanceHandle);

  FutureNumber (*request_device)(AdapterHandle, const DeviceDescriptor*, Callback<DeviceCallback>);
  std::uint32_t (*adapter_info)(AdapterHandle, AdapterInfo*);
  std::uint32_t (*adapter_limits)(AdapterHandle, Limits*);
  void (*adapter_release)(AdapterHandle);

  QueueHandle (*device_queue)(DeviceHandle);
  void (*device_destroy)(DeviceHandle);
  void (*device_release)(DeviceHandle);
  void (*push_scope)(DeviceHandle, std::uint32_t filter);
  FutureNumber (*pop_scope)(DeviceHandle, Callback<ScopeCallback>);

  BufferHandle (*create_buffer)(DeviceHandle, const BufferDescriptor*);
  FutureNumber (*map)(BufferHandle, Flags mode, std::size_t offset, std::size_t size, Callback<MapCallback>);
  const void* (*mapped)(BufferHandle, std::size_t offset, std::size_t size);
  void (*unmap)(BufferHandle);
  void (*buffer_destroy)(BufferHandle);
  void (*buffer_release)(BufferHandle);

  ModuleHandle (*create_module)(DeviceHandle, const LabelledDescriptor*);
  void (*module_release)(ModuleHandle);
  GroupLayoutHandle (*create_group_layout)(DeviceHandle, const GroupLayoutDescriptor*);
  void (*group_layout_release)(GroupLayoutHandle);
  PipelineLayoutHandle (*create_pipeline_layout)(DeviceHandle, const PipelineLayoutDescriptor*);
  void (*pipeline_layout_release)(PipelineLayoutHandle);
  PipelineHandle (*create_pipeline)(DeviceHandle, const PipelineDescriptor*);
  void (*pipeline_release)(PipelineHandle);
  GroupHandle (*create_group)(DeviceHandle, const GroupDescriptor*);
  void (*group_release)(GroupHandle);

  EncoderHandle (*create_encoder)(DeviceHandle, const LabelledDescriptor*);
  void (*encoder_release)(EncoderHandle);
  PassHandle (*begin_pass)(EncoderHandle, const PassDescriptor*);
  void (*set_pipeline)(PassHandle, PipelineHandle);
  void (*set_group)(PassHandle, std::uint32_t index, GroupHandle, std::size_t offset_count,
                    const std::uint32_t* offsets);
  void (*dispatch)(PassHandle, std::uint32_t x, std::uint32_t y, std::uint32_t z);
  void (*end_pass)(PassHandle);
  void (*pass_release)(PassHandle);
  void (*copy)(EncoderHandle, BufferHandle from, std::uint64_t from_offset, BufferHandle to, std::uint64_t to_offset,
               std::uint64_t size);
  void (*clear)(EncoderHandle, BufferHandle, std::uint64_t offset, std::uint64_t size);
  CommandsHandle (*finish)(EncoderHandle, const LabelledDescriptor*);
  void (*commands_release)(CommandsHandle);

  void (*submit)(QueueHandle, std::size_t count, const CommandsHandle*);
  void (*write)(QueueHandle, BufferHandle, std::uint64_t offset, const void* data, std::size_t size);

  // wgpu-native's, null elsewhere: runs callbacks that are due, as process_events does in others.
  Truth (*poll)(DeviceHandle, Truth wait, const std::uint64_t* submission);
};

}  // namespace kiln::webgpu
