// GLSL to SPIR-V by glslang, in this process.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::vulkan {

/// Throws DeviceError with the kernel's name, glslang's words and the text. Thread-safe. The first call of a process
/// takes 100 ms more.
std::vector<std::uint32_t> spirv_of(const std::string& kernel, const std::string& text);

/// "glslang 12.0.0", whose results differ between versions.
std::string glslang_version();

}  // namespace kiln::vulkan
