#include "tests/backend/webgpu/stand_in.hpp"

#include <atomic>
#include <cstring>
#include <vector>

namespace kiln::webgpu::test {
namespace {

struct Memory {
  std::vector<std::byte> bytes;
};
struct Device {
  Callback<LostCallback> lost;
  ErrorCallbackInfo error;
  std::vector<Trouble> troubles;
  std::atomic<bool> is_lost = false;
  std::vector<Callback<MapCallback>> unanswered;
};
Device the_device;

template <class Handle>
Handle made() {
  ++stand_in().objects;
  return reinterpret_cast<Handle>(new char);
}
template <class Handle>
void released(Handle handle) {
  --stand_in().objects;
  delete reinterpret_cast<char*>(handle);
}
template <class Handle>
Handle constant() {
  static char only;
  return reinterpret_cast<Handle>(&only);
}
Memory& memory_of(BufferHandle buffer) { return *reinterpret_cast<Memory*>(buffer); }

BufferHandle create_buffer(DeviceHandle, const BufferDescriptor* descriptor) {
  if (stand_in().used + descriptor->size > stand_in().room) {
    the_device.troubles.push_back({true, "not enough memory left"});
    return nullptr;
  }
  stand_in().used += descriptor->size;
  return reinterpret_cast<BufferHandle>(new Memory{std::vector<std::byte>(descriptor->size)});
}
void release_buffer(BufferHandle buffer) {
  stand_in().used -= memory_of(buffer).bytes.size();
  delete &memory_of(buffer);
}

FutureNumber pop_scope(DeviceHandle, Callback<ScopeCallback> callback) {
  --stand_in().open_scopes;
  std::uint32_t type = kNoError;
  std::string words;
  if (!the_device.troubles.empty()) {
    type = the_device.troubles.back().memory ? kOutOfMemory : 2;
    words = the_device.troubles.back().words;
    the_device.troubles.pop_back();
  }
  callback.call(kSuccess, type, std::string_view(words), callback.to, nullptr);
  return {};
}

PipelineHandle create_pipeline(DeviceHandle, const PipelineDescriptor*) {
  if (stand_in().compile_error.empty()) return made<PipelineHandle>();
  the_device.troubles.push_back({false, stand_in().compile_error});
  return nullptr;
}

void submit(QueueHandle, std::size_t, const CommandsHandle*) {
  StandIn& machine = stand_in();
  ++machine.submits;
  const DeviceHandle device = constant<DeviceHandle>();
  if (machine.submits_until_loss >= 0 && machine.submits_until_loss-- == 0) lose_device();
  if (!machine.submit_error.empty())
    the_device.error.call(&device, 2, std::string_view(machine.submit_error), the_device.error.to, nullptr);
}

FutureNumber map(BufferHandle, Flags, std::size_t, std::size_t, Callback<MapCallback> callback) {
  // A device that is lost may never answer.
  if (the_device.is_lost || !stand_in().answers) the_device.unanswered.push_back(callback);
  else callback.call(kSuccess, {}, callback.to, nullptr);
  return {};
}

FutureNumber request_adapter(InstanceHandle, const AdapterOptions*, Callback<AdapterCallback> callback) {
  const bool there = stand_in().has_adapter;
  callback.call(there ? kSuccess : 3, there ? constant<AdapterHandle>() : nullptr,
                there ? Words() : Words(std::string_view("no suitable adapter found")), callback.to, nullptr);
  return {};
}
FutureNumber request_device(AdapterHandle, const DeviceDescriptor* descriptor, Callback<DeviceCallback> callback) {
  the_device.lost = descriptor->lost;
  the_device.error = descriptor->error;
  the_device.troubles.clear();
  the_device.is_lost = false;
  const bool there = stand_in().gives_device;
  callback.call(there ? kSuccess : 3, there ? constant<DeviceHandle>() : nullptr,
                there ? Words() : Words(std::string_view("limits are beyond the adapter's")), callback.to, nullptr);
  return {};
}
std::uint32_t adapter_info(AdapterHandle, AdapterInfo* info) {
  info->device = std::string_view("stand-in");
  info->backend = stand_in().backend;
  info->type = kDiscrete;
  return kSuccess;
}
std::uint32_t adapter_limits(AdapterHandle, Limits* limits) {
  limits->bindings_per_group = 1000;
  limits->storage_buffers = stand_in().storage_buffers;
  limits->storage_bytes = stand_in().storage_bytes;
  limits->uniform_bytes = 64 << 10;
  limits->uniform_alignment = limits->storage_alignment = 256;
  limits->buffer_bytes = 1 << 30;
  limits->shared_bytes = stand_in().shared_bytes;
  limits->threads = limits->threads_x = 256;
  limits->blocks = 65535;
  return kSuccess;
}

Functions functions() {
  Functions f{};
  f.request_adapter = &request_adapter;
  f.process_events = [](InstanceHandle) {};
  f.request_device = &request_device;
  f.adapter_info = &adapter_info;
  f.adapter_limits = &adapter_limits;
  f.adapter_release = [](AdapterHandle) {};
  f.device_queue = [](DeviceHandle) { return constant<QueueHandle>(); };
  f.device_destroy = [](DeviceHandle) {};
  f.device_release = [](DeviceHandle) {
    for (const Callback<MapCallback>& each : the_device.unanswered) each.call(2, {}, each.to, nullptr);
    the_device.unanswered.clear();
  };
  f.push_scope = [](DeviceHandle, std::uint32_t) { ++stand_in().open_scopes; };
  f.pop_scope = &pop_scope;
  f.create_buffer = &create_buffer;
  f.map = &map;
  f.mapped = [](BufferHandle buffer, std::size_t offset, std::size_t) -> const void* {
    return memory_of(buffer).bytes.data() + offset;
  };
  f.unmap = [](BufferHandle) {};
  f.buffer_destroy = [](BufferHandle) {};
  f.buffer_release = &release_buffer;
  f.create_module = [](DeviceHandle, const LabelledDescriptor*) { return made<ModuleHandle>(); };
  f.module_release = &released<ModuleHandle>;
  f.create_group_layout = [](DeviceHandle, const GroupLayoutDescriptor*) { return made<GroupLayoutHandle>(); };
  f.group_layout_release = &released<GroupLayoutHandle>;
  f.create_pipeline_layout = [](DeviceHandle, const PipelineLayoutDescriptor*) { return made<PipelineLayoutHandle>(); };
  f.pipeline_layout_release = &released<PipelineLayoutHandle>;
  f.create_pipeline = &create_pipeline;
  f.pipeline_release = &released<PipelineHandle>;
  f.create_group = [](DeviceHandle, const GroupDescriptor*) { return made<GroupHandle>(); };
  f.group_release = &released<GroupHandle>;
  f.create_encoder = [](DeviceHandle, const LabelledDescriptor*) { return made<EncoderHandle>(); };
  f.encoder_release = &released<EncoderHandle>;
  f.begin_pass = [](EncoderHandle, const PassDescriptor*) { return made<PassHandle>(); };
  f.set_pipeline = [](PassHandle, PipelineHandle) {};
  f.set_group = [](PassHandle, std::uint32_t, GroupHandle, std::size_t, const std::uint32_t*) {};
  f.dispatch = [](PassHandle, std::uint32_t, std::uint32_t, std::uint32_t) { ++stand_in().dispatches; };
  f.end_pass = [](PassHandle) {};
  f.pass_release = &released<PassHandle>;
  f.copy = [](EncoderHandle, BufferHandle from, std::uint64_t from_offset, BufferHandle to, std::uint64_t to_offset,
              std::uint64_t size) {
    std::memcpy(memory_of(to).bytes.data() + to_offset, memory_of(from).bytes.data() + from_offset, size);
  };
  f.clear = [](EncoderHandle, BufferHandle buffer, std::uint64_t offset, std::uint64_t size) {
    std::memset(memory_of(buffer).bytes.data() + offset, 0, size);
  };
  f.finish = [](EncoderHandle, const LabelledDescriptor*) { return made<CommandsHandle>(); };
  f.commands_release = &released<CommandsHandle>;
  f.submit = &submit;
  f.write = [](QueueHandle, BufferHandle buffer, std::uint64_t offset, const void* data, std::size_t size) {
    std::memcpy(memory_of(buffer).bytes.data() + offset, data, size);
  };
  return f;
}

}  // namespace

StandIn& stand_in() {
  static StandIn only;
  return only;
}

void lose_device() {
  const DeviceHandle device = constant<DeviceHandle>();
  the_device.is_lost = true;
  the_device.lost.call(&device, 1, std::string_view("the cable was pulled"), the_device.lost.to, nullptr);
}

const Provider& stand_in_provider() {
  static const Provider provider{.library = "stand-in.so",
                                 .implementation = "a stand-in",
                                 .functions = functions(),
                                 .instance = constant<InstanceHandle>()};
  stand_in() = {};
  return provider;
}

}  // namespace kiln::webgpu::test
