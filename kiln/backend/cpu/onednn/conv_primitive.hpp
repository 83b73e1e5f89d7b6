// oneDNN's convolutions: activations are channels-last, and weights have the order that oneDNN prefers.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/onednn/primitive.hpp"

namespace kiln::cpu::onednn {

using conv::Geometry, conv::Pass;

/// The operands of the convolution are x, weight, y and, if there is one, the bias; those of its adjoint in x are y,
/// weight, x; those of its adjoint in the weight are x, y and a weight of float32.
Primitive& conv_primitive(Pass pass, const Geometry& g, DType dtype, bool with_bias = false);

}  // namespace kiln::cpu::onednn
