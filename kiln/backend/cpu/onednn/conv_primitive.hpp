// oneDNN's convolutions: activations are channels-last, and weights have the order that oneDNN prefers.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/onednn/primitive.hpp"

namespace kiln::cpu::onednn {

using conv::Geometry;

/// The operands are x, weight, y and, if there is one, the bias.
Primitive& conv_primitive(const Geometry& g, DType dtype, bool with_bias);
/// The operands are y, weight, x.
Primitive& conv_data_primitive(const Geometry& g, DType dtype);
/// The operands are x, y, weight; the weight is float32.
Primitive& conv_weight_primitive(const Geometry& g, DType dtype);

}  // namespace kiln::cpu::onednn
