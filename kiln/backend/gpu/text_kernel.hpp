// A kernel written as text in the language of one kind of device, for users who already have one or need what only that
// language offers. Nothing checks what it does; a kernel that gpu/kernel builds runs everywhere, and the simulated device
// checks it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/core/ref.hpp"

namespace kiln::gpu {

class Code;

enum class Language : std::uint8_t {
  Cuda,  // CUDA C++17, for NVRTC
  Hip,   // HIP's C++17, for HIPRTC
  Glsl,  // GLSL 4.5 with references to buffers, for Vulkan
  Wgsl,  // for WebGPU
};
std::string_view name(Language language);  // "CUDA C++", "HIP", "GLSL", "WGSL"

/// How a launch's arguments reach the text depends on the language:
/// - CUDA C++, HIP: extern "C" __global__ void name(...) has them as parameters, pointers and numbers of at most 8 bytes.
/// - GLSL: they are the push constants of main(), 8 bytes each: references to buffers, and numbers in the low bytes. There
///   are at most 16.
/// - WGSL: buffer i is binding i of group 0, a `var<storage, read_write>`, from where its tensor's memory begins or
///   before. A `var<uniform>`, a struct at the binding after the last buffer, has 4 bytes for each of them: how many
///   words of 4 bytes lie in buffer i before the tensor's first element (i32); and then the numbers.
struct TextKernel {
  Language language = Language::Cuda;
  std::string name;                        // of the kernel in errors, and of the function but in GLSL
  std::string text;                        // a whole source file
  std::uint32_t buffers = 0, numbers = 0;  // that a launch gives as arguments, in this order
  int threads = 256;                       // per block, along x; GLSL and WGSL say it themselves
  std::int64_t shared_bytes = 0;           // of `extern __shared__` memory per block; GLSL and WGSL declare theirs

  std::uint32_t parameters() const { return buffers + numbers; }
};

/// Compiles kernels that users wrote, for devices that accept them.
class TextCompiler {
 public:
  virtual ~TextCompiler() = default;
  virtual Language language() const = 0;
  /// Throws DeviceError with the kernel's name, the compiler's message and the text where it does not compile.
  virtual Ref<Code> compile_text(const TextKernel& kernel) = 0;
};

}  // namespace kiln::gpu
