// A simulated GPU, whose kernels are printed in the language of what it stands for.
#pragma once
#include <string_view>

#include "kiln/ops/backend.hpp"

namespace kiln::test {

/// "simulated:webgpu" prints WGSL, "simulated:metal" MSL, "simulated:cuda" CUDA C++, "simulated:rocm" HIP,
/// and the others GLSL. Each text is written once into the folder that KILN_TEST_KERNELS names, as NAME-NUMBER.wgsl,
/// .metal, .cu, .hip or .comp; a kernel that the language cannot say is an error.
Ref<Backend> printed_simulated(std::string_view profile);

}  // namespace kiln::test
