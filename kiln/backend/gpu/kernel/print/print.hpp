// Prints a kernel as source text in the language of a device (targets.hpp): CUDA C++, HIP, GLSL for Vulkan, WGSL, MSL.
#pragma once
#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/backend/gpu/kernel/print/targets.hpp"

namespace kiln::gpu {

struct KernelText {
  std::string text;               // a whole source file
  std::string function;           // the name that it defines, since the kernel's own might be reserved in the language
  std::int64_t shared_bytes = 0;  // shared memory per block of a launch; languages that declare it need not be told
};

/// Throws DTypeError or ArgumentError, with the kernel's name, where the language cannot say something; lower/ rewrites
/// most of that beforehand. What a launch passes depends on the language:
/// - CUDA, HIP: each parameter by itself, pointers and numbers.
/// - GLSL: buffer i of the kernel, numbers not counted, is storage buffer i of set 0. Number i, buffers not counted, is
///   words 2 i and 2 i + 1 of the push constants.
/// - GLSL with references: each argument of the kernel (Kernel::words) is 8 bytes, an address or a number; the words of a
///   uniform block follow. Where all are at most kPushedBytes they are the push constants, which else are the address of
///   memory that holds them.
/// - WGSL: buffers in the same way, in group 0. The numbers, 8 bytes each, are one uniform buffer after the last.
/// - MSL: buffers in the same way; the numbers, 8 bytes each, are one constant buffer after the last.
/// A uniform block that lowering made is in the place of a buffer, and is bound as a uniform.
KernelText print(const Kernel& kernel, const Target& target);

/// The push constants that every Vulkan device has room for.
inline constexpr std::size_t kPushedBytes = 128;
/// The bytes that a launch of a kernel in GLSL with references passes.
std::size_t argument_bytes(const Kernel& kernel);

}  // namespace kiln::gpu
