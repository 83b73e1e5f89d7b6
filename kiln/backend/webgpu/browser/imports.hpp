// Imports: the few functions that webgpu.js, which is linked into the module, gives to it. All others are commands.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kiln::webgpu::browser {

/// A command of `kiln_webgpu_play`: this number, then its arguments in words of 4 bytes, in the order given here.
/// webgpu.js has them in the same order. Objects are named by numbers that the sender chooses, as WebGPU's functions
/// give their results at once; a ticket is a number under which an answer comes (kiln_webgpu_answer).
enum class Command : std::uint32_t {
  RequestAdapter,        // adapter, power, ticket
  RequestDevice,         // adapter, device, ticket, ticket of its loss, ticket of its errors
  Queue,                 // device, queue
  Release,               // object
  Destroy,               // device or buffer
  PushScope,             // device, filter
  PopScope,              // device, ticket
  CreateBuffer,          // device, buffer, usage, bytes
  Map,                   // buffer, offset, bytes, ticket
  Unmap,                 // buffer
  CreateModule,          // device, module, text, its bytes, label, its bytes
  CreateGroupLayout,     // device, layout, count; binding and type of each
  CreatePipelineLayout,  // device, layout, count; the layout of each group
  CreatePipeline,        // device, pipeline, layout, module, name of the function, its bytes, label, its bytes
  CreateGroup,           // device, group, layout, count; binding, buffer, offset and bytes of each
  CreateEncoder,         // device, encoder
  BeginPass,             // encoder, pass
  SetPipeline,           // pass, pipeline
  SetGroup,              // pass, index, group
  Dispatch,              // pass, x, y, z
  EndPass,               // pass
  Copy,                  // encoder, from, its offset, to, its offset, bytes
  Clear,                 // encoder, buffer, offset, bytes
  Finish,                // encoder, commands
  Submit,                // queue, count; commands
  Write,                 // queue, buffer, offset, data, bytes
};

extern "C" {
/// Runs commands of `count` words, in order, where the objects of WebGPU live: on the module's first thread.
void kiln_webgpu_play(const std::uint32_t* words, std::uint32_t count);
/// Copies bytes of a mapped buffer to the module's memory; false where they cannot be seen.
int kiln_webgpu_mapped(std::uint32_t buffer, std::uint32_t offset, std::uint32_t bytes, void* to);
/// A limit of an adapter by its name in JavaScript; 0 where the browser does not know it.
double kiln_webgpu_limit(std::uint32_t adapter, const char* name);
/// Writes an adapter's name, at most `room` bytes, and returns how many there are.
std::uint32_t kiln_webgpu_name(std::uint32_t adapter, char* to, std::uint32_t room);
/// Whether an adapter computes on the processor.
int kiln_webgpu_is_fallback(std::uint32_t adapter);
/// Whether the page has navigator.gpu. 2: not, as it is no secure context.
int kiln_webgpu_is_missing();
/// Whether this call of the module may be suspended: the browser has JSPI, and the page called through kilnCall.
int kiln_webgpu_may_suspend();
/// Suspends the module until an answer has come, or a fifth of a second.
void kiln_webgpu_suspend();
/// kiln_call (kiln/browser/call.hpp). Where WebAssembly itself breaks off, the first thread is told, and this one ends here.
int kiln_webgpu_guarded(const char* name, const void* arguments, std::size_t bytes, void* answer);
/// Tells the first thread that the call which it gave to another has ended, with this status.
void kiln_webgpu_called(int status);

/// Exported: an answer, from the first thread. Its words were made by malloc, and are freed here.
void kiln_webgpu_answer(std::uint32_t ticket, std::uint32_t status, std::uint32_t number, char* words,
                        std::uint32_t bytes);
}

}  // namespace kiln::webgpu::browser
