// oneDNN's convolutions: activations channels-last, weights in whatever order it likes best.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/onednn/primitive.hpp"

namespace kiln::cpu::onednn {

using conv::Geometry;

/// Operands x, weight, y and, where there is one, bias.
Primitive& conv_primitive(const Geometry& g, DType dtype, bool with_bias);
/// Operands y, weight, x.
Primitive& conv_data_primitive(const Geometry& g, DType dtype);
/// Operands x, y, weight; the weight is float32.
Primitive& conv_weight_primitive(const Geometry& g, DType dtype);

}  // namespace kiln::cpu::onednn
