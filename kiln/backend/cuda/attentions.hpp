// Attention by cuDNN, as the graphs of operations that it fuses (its reference, "Fused attention").
#pragma once
#include <vector>

#include "kiln/backend/cuda/dnn.hpp"
#include "kiln/backend/gpu/attention.hpp"

namespace kiln::cuda {

/// How such attention is made, of addresses_of() it. Null where cuDNN does not know how.
const Dnn::Plan* plan_of(Dnn& dnn, const gpu::Attention& asked);
std::vector<void*> addresses_of(const gpu::Attention& asked);

/// The same attention in pieces, of some sequences or heads each, that need no more memory than a plan may.
std::vector<gpu::Attention> pieces_of(const Dnn& dnn, const gpu::Attention& asked);
/// The room that it wants; 0 where cuDNN is not asked for it.
std::int64_t room_of(Dnn& dnn, const gpu::Attention& asked);

}  // namespace kiln::cuda
