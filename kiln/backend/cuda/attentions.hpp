// Attention by cuDNN, as the graphs of operations that it fuses (its reference, "Fused attention").
#pragma once
#include <vector>

#include "kiln/backend/cuda/dnn.hpp"
#include "kiln/backend/gpu/attention.hpp"

namespace kiln::cuda {

/// Returns the plan for such attention, which runs on addresses_of() it; null if cuDNN does not support it.
const Dnn::Plan* plan_of(Dnn& dnn, const gpu::Attention& asked);
std::vector<void*> addresses_of(const gpu::Attention& asked);

/// Splits attention by sequences or heads, so that each piece needs no more memory than a plan may use.
std::vector<gpu::Attention> pieces_of(const Dnn& dnn, const gpu::Attention& asked);
/// The bytes of workspace with which it is fastest; 0 if cuDNN is not used for it.
std::int64_t workspace_of(Dnn& dnn, const gpu::Attention& asked);

}  // namespace kiln::cuda
