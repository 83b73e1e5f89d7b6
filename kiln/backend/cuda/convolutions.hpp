// Convolutions by cuDNN, where it computes as exactly as our own kernels do.
#pragma once
#include <array>

#include "kiln/backend/cuda/dnn.hpp"
#include "kiln/backend/gpu/convolution.hpp"

namespace kiln::cuda {

/// Returns the plan for such a convolution, which runs on addresses_of() it; null if cuDNN does not support it.
const Dnn::Plan* plan_of(Dnn& dnn, const gpu::Convolution& asked);
std::array<void*, 3> addresses_of(const gpu::Convolution& asked);

}  // namespace kiln::cuda
