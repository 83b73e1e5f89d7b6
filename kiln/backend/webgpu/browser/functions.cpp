#include "kiln/backend/webgpu/browser/functions.hpp"

#include <map>

#include "kiln/backend/webgpu/browser/wire.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::webgpu::browser {
namespace {

// Pointers of webgpu.h are the numbers of objects here.
template <class Handle>
std::uint32_t number(Handle handle) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}
template <class Handle>
Handle handle(std::uint32_t number) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(number));
}
std::uint32_t place(const void* pointer) { return number(pointer); }
std::uint32_t small(std::uint64_t count) {
  KILN_CHECK(count <= UINT32_MAX);  // pointers have 32 bits, and so do sizes of buffers
  return static_cast<std::uint32_t>(count);
}
std::uint32_t length(Words words) { return small(words.view().size()); }

template <class Handle>
void release(Handle object) {
  wire().release(number(object));
}
template <class Handle>
void destroy(Handle object) {
  wire().add(Command::Destroy, {number(object)});
}

// ---- adapters and devices ------------------------------------------------------------------------------------------

FutureNumber request_adapter(InstanceHandle, const AdapterOptions* options, Callback<AdapterCallback> then) {
  const std::uint32_t adapter = wire().object();
  const std::uint32_t ticket = wire().ticket([=](const Answer& said) {
    then.call(said.status, handle<AdapterHandle>(adapter), std::string_view(said.words), then.to, nullptr);
  });
  wire().add(Command::RequestAdapter, {adapter, options->power, ticket});
  return {ticket};
}

std::uint32_t adapter_info(AdapterHandle adapter, AdapterInfo* info) {
  static auto& names = *new std::map<AdapterHandle, std::string>();  // to which the info refers
  std::string& name = names[adapter];
  name.resize(256);
  name.resize(kiln_webgpu_name(number(adapter), name.data(), small(name.size())));
  constexpr std::uint32_t kWebGpu = 2, kUnknownType = 4;
  info->device = std::string_view(name);
  info->backend = kWebGpu;
  info->type = kiln_webgpu_is_fallback(number(adapter)) ? kProcessor : kUnknownType;
  return kSuccess;
}

std::uint32_t adapter_limits(AdapterHandle adapter, Limits* limits) {
  const auto say = [&](auto& limit, const char* name) {
    const double most = std::min(kiln_webgpu_limit(number(adapter), name), 4294967295.0);
    limit = static_cast<std::remove_reference_t<decltype(limit)>>(most);
  };
  say(limits->bind_groups, "maxBindGroups");
  say(limits->bindings_per_group, "maxBindingsPerBindGroup");
  say(limits->storage_buffers, "maxStorageBuffersPerShaderStage");
  say(limits->uniform_bytes, "maxUniformBufferBindingSize");
  say(limits->storage_bytes, "maxStorageBufferBindingSize");
  say(limits->uniform_alignment, "minUniformBufferOffsetAlignment");
  say(limits->storage_alignment, "minStorageBufferOffsetAlignment");
  say(limits->buffer_bytes, "maxBufferSize");
  say(limits->shared_bytes, "maxComputeWorkgroupStorageSize");
  say(limits->threads, "maxComputeInvocationsPerWorkgroup");
  say(limits->threads_x, "maxComputeWorkgroupSizeX");
  say(limits->threads_y, "maxComputeWorkgroupSizeY");
  say(limits->threads_z, "maxComputeWorkgroupSizeZ");
  say(limits->blocks, "maxComputeWorkgroupsPerDimension");
  return kSuccess;
}

// A device is asked for with all limits of the adapter.
FutureNumber request_device(AdapterHandle adapter, const DeviceDescriptor* descriptor, Callback<DeviceCallback> then) {
  const std::uint32_t device = wire().object();
  const std::uint32_t ticket = wire().ticket([=](const Answer& said) {
    then.call(said.status, handle<DeviceHandle>(device), std::string_view(said.words), then.to, nullptr);
  });
  const auto told = [device](auto info) {
    return [=](const Answer& said) {
      const auto lost = handle<DeviceHandle>(device);
      info.call(&lost, said.number, std::string_view(said.words), info.to, nullptr);
    };
  };
  const std::uint32_t loss = wire().ticket(told(descriptor->lost));
  const std::uint32_t errors = wire().ticket(told(descriptor->error), false);
  wire().add(Command::RequestDevice, {number(adapter), device, ticket, loss, errors});
  return {ticket};
}

QueueHandle device_queue(DeviceHandle device) {
  const std::uint32_t queue = wire().object();
  wire().add(Command::Queue, {number(device), queue});
  return handle<QueueHandle>(queue);
}

FutureNumber pop_scope(DeviceHandle device, Callback<ScopeCallback> then) {
  const std::uint32_t ticket = wire().ticket(
      [=](const Answer& said) { then.call(said.status, said.number, std::string_view(said.words), then.to, nullptr); });
  wire().add(Command::PopScope, {number(device), ticket});
  return {ticket};
}

// ---- buffers -------------------------------------------------------------------------------------------------------

BufferHandle create_buffer(DeviceHandle device, const BufferDescriptor* descriptor) {
  const std::uint32_t buffer = wire().object();
  wire().add(Command::CreateBuffer, {number(device), buffer, small(descriptor->usage), small(descriptor->size)});
  return handle<BufferHandle>(buffer);
}

FutureNumber map(BufferHandle buffer, Flags, std::size_t offset, std::size_t size, Callback<MapCallback> then) {
  const std::uint32_t ticket = wire().ticket(
      [=](const Answer& said) { then.call(said.status, std::string_view(said.words), then.to, nullptr); });
  wire().add_and_play(Command::Map, {number(buffer), small(offset), small(size), ticket});
  return {ticket};
}

/// Bytes of buffers that are mapped, which the module cannot see where the browser has them.
struct Copies {
  std::mutex mutex;
  std::map<BufferHandle, std::vector<std::byte>> bytes;
};
Copies& copies() {
  static auto& made = *new Copies();
  return made;
}

const void* mapped(BufferHandle buffer, std::size_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  wire().play();
  if (!kiln_webgpu_mapped(number(buffer), small(offset), small(size), bytes.data())) return nullptr;
  const std::lock_guard lock(copies().mutex);
  return (copies().bytes[buffer] = std::move(bytes)).data();
}

void unmap(BufferHandle buffer) {
  wire().add(Command::Unmap, {number(buffer)});
  const std::lock_guard lock(copies().mutex);
  copies().bytes.erase(buffer);
}

void write(QueueHandle queue, BufferHandle buffer, std::uint64_t offset, const void* data, std::size_t size) {
  wire().add_and_play(Command::Write, {number(queue), number(buffer), small(offset), place(data), small(size)});
}

// ---- kernels -------------------------------------------------------------------------------------------------------

// Played at once, as they point to texts of the caller's.

ModuleHandle create_module(DeviceHandle device, const LabelledDescriptor* descriptor) {
  const std::uint32_t module = wire().object();
  const Words text = reinterpret_cast<const WgslSource*>(descriptor->next)->code, label = descriptor->label;
  wire().add_and_play(Command::CreateModule,
                      {number(device), module, place(text.data), length(text), place(label.data), length(label)});
  return handle<ModuleHandle>(module);
}

PipelineHandle create_pipeline(DeviceHandle device, const PipelineDescriptor* descriptor) {
  const std::uint32_t pipeline = wire().object();
  const Words entry = descriptor->compute.entry, label = descriptor->label;
  wire().add_and_play(Command::CreatePipeline,
                      {number(device), pipeline, number(descriptor->layout), number(descriptor->compute.module),
                       place(entry.data), length(entry), place(label.data), length(label)});
  return handle<PipelineHandle>(pipeline);
}

GroupLayoutHandle create_group_layout(DeviceHandle device, const GroupLayoutDescriptor* descriptor) {
  const std::uint32_t layout = wire().object();
  std::vector<std::uint32_t> entries;
  for (const GroupLayoutEntry& entry : std::span(descriptor->entries, descriptor->count))
    entries.insert(entries.end(), {entry.binding, entry.buffer.type});
  wire().add(Command::CreateGroupLayout, {number(device), layout, small(descriptor->count)}, entries);
  return handle<GroupLayoutHandle>(layout);
}

PipelineLayoutHandle create_pipeline_layout(DeviceHandle device, const PipelineLayoutDescriptor* descriptor) {
  const std::uint32_t layout = wire().object();
  std::vector<std::uint32_t> groups;
  for (const GroupLayoutHandle group : std::span(descriptor->groups, descriptor->count))
    groups.push_back(number(group));
  wire().add(Command::CreatePipelineLayout, {number(device), layout, small(groups.size())}, groups);
  return handle<PipelineLayoutHandle>(layout);
}

GroupHandle create_group(DeviceHandle device, const GroupDescriptor* descriptor) {
  const std::uint32_t group = wire().object();
  std::vector<std::uint32_t> entries;
  for (const GroupEntry& entry : std::span(descriptor->entries, descriptor->count))
    entries.insert(entries.end(), {entry.binding, number(entry.buffer), small(entry.offset), small(entry.size)});
  wire().add(Command::CreateGroup, {number(device), group, number(descriptor->layout), small(descriptor->count)},
             entries);
  return handle<GroupHandle>(group);
}

// ---- commands ------------------------------------------------------------------------------------------------------

EncoderHandle create_encoder(DeviceHandle device, const LabelledDescriptor*) {
  const std::uint32_t encoder = wire().object();
  wire().add(Command::CreateEncoder, {number(device), encoder});
  return handle<EncoderHandle>(encoder);
}

PassHandle begin_pass(EncoderHandle encoder, const PassDescriptor*) {
  const std::uint32_t pass = wire().object();
  wire().add(Command::BeginPass, {number(encoder), pass});
  return handle<PassHandle>(pass);
}

CommandsHandle finish(EncoderHandle encoder, const LabelledDescriptor*) {
  const std::uint32_t commands = wire().object();
  wire().add(Command::Finish, {number(encoder), commands});
  return handle<CommandsHandle>(commands);
}

// The device begins at once.
void submit(QueueHandle queue, std::size_t count, const CommandsHandle* commands) {
  std::vector<std::uint32_t> numbers;
  for (const CommandsHandle each : std::span(commands, count)) numbers.push_back(number(each));
  wire().add(Command::Submit, {number(queue), small(count)}, numbers);
  wire().play();
}

void put_commands(Functions& f) {
  f.create_encoder = &create_encoder;
  f.encoder_release = &release<EncoderHandle>;
  f.begin_pass = &begin_pass;
  f.set_pipeline = [](PassHandle pass, PipelineHandle pipeline) {
    wire().add(Command::SetPipeline, {number(pass), number(pipeline)});
  };
  f.set_group = [](PassHandle pass, std::uint32_t index, GroupHandle group, std::size_t, const std::uint32_t*) {
    wire().add(Command::SetGroup, {number(pass), index, number(group)});
  };
  f.dispatch = [](PassHandle pass, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    wire().add(Command::Dispatch, {number(pass), x, y, z});
  };
  f.end_pass = [](PassHandle pass) { wire().add(Command::EndPass, {number(pass)}); };
  f.pass_release = &release<PassHandle>;
  f.copy = [](EncoderHandle encoder, BufferHandle from, std::uint64_t from_offset, BufferHandle to,
              std::uint64_t to_offset, std::uint64_t size) {
    wire().add(Command::Copy,
               {number(encoder), number(from), small(from_offset), number(to), small(to_offset), small(size)});
  };
  f.clear = [](EncoderHandle encoder, BufferHandle buffer, std::uint64_t offset, std::uint64_t size) {
    wire().add(Command::Clear, {number(encoder), number(buffer), small(offset), small(size)});
  };
  f.finish = &finish;
  f.commands_release = &release<CommandsHandle>;
  f.submit = &submit;
  f.write = &write;
}

}  // namespace

Functions functions() {
  Functions f{};
  f.create_instance = [](const InstanceDescriptor*) { return handle<InstanceHandle>(1); };
  f.request_adapter = &request_adapter;
  f.process_events = [](InstanceHandle) { wire().hear(); };
  f.request_device = &request_device;
  f.adapter_info = &adapter_info;
  f.adapter_limits = &adapter_limits;
  f.adapter_release = &release<AdapterHandle>;
  f.device_queue = &device_queue;
  f.device_destroy = &destroy<DeviceHandle>;
  f.device_release = &release<DeviceHandle>;
  f.push_scope = [](DeviceHandle device, std::uint32_t filter) {
    wire().add(Command::PushScope, {number(device), filter});
  };
  f.pop_scope = &pop_scope;
  f.create_buffer = &create_buffer;
  f.map = &map;
  f.mapped = &mapped;
  f.unmap = &unmap;
  f.buffer_destroy = &destroy<BufferHandle>;
  f.buffer_release = &release<BufferHandle>;
  f.create_module = &create_module;
  f.module_release = &release<ModuleHandle>;
  f.create_group_layout = &create_group_layout;
  f.group_layout_release = &release<GroupLayoutHandle>;
  f.create_pipeline_layout = &create_pipeline_layout;
  f.pipeline_layout_release = &release<PipelineLayoutHandle>;
  f.create_pipeline = &create_pipeline;
  f.pipeline_release = &release<PipelineHandle>;
  f.create_group = &create_group;
  f.group_release = &release<GroupHandle>;
  put_commands(f);
  return f;
}

}  // namespace kiln::webgpu::browser
