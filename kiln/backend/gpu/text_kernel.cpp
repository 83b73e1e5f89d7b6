#include "kiln/backend/gpu/text_kernel.hpp"

namespace kiln::gpu {

std::string_view name(Language language) {
  static constexpr std::string_view kNames[] = {"CUDA C++", "HIP", "GLSL", "WGSL"};
  return kNames[static_cast<std::size_t>(language)];
}

}  // namespace kiln::gpu
