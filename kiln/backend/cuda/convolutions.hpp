// Convolutions by cuDNN, where it computes as exactly as our own kernels do.
#pragma once
#include <array>

#include "kiln/backend/cuda/dnn.hpp"
#include "kiln/backend/gpu/convolution.hpp"

namespace kiln::cuda {

/// How such a convolution is made, of addresses_of() it. Null where cuDNN does not know how.
const Dnn::Plan* plan_of(Dnn& dnn, const gpu::Convolution& asked);
std::array<void*, 3> addresses_of(const gpu::Convolution& asked);

}  // namespace kiln::cuda
