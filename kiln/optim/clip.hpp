// Keeping gradients small.
#pragma once
#include "kiln/nn/gradients.hpp"

namespace kiln {

/// The Euclidean norm of all gradients as one vector, in float32. Throws ArgumentError for none at all.
Tensor<0> global_norm(const GradientsParams& grads);

/// The gradients scaled down together so that their global norm is at most `limit`; smaller ones stay as they are.
/// Nothing waits for the device. A norm that is not finite makes the gradients NaN. Throws ArgumentError for a limit
/// that is not positive.
GradientsParams clip_by_global_norm(GradientsParams grads, double limit);

/// Each element brought into [-limit, limit].
GradientsParams clip_by_value(GradientsParams grads, double limit);

}  // namespace kiln
