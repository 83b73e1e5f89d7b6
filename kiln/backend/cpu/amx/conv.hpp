// Which convolutions run on tiles.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::amx {

/// Of bfloat16, with enough channels to fill tiles.
bool takes(conv::Pass pass, const conv::Geometry& g);

/// multiply() of a convolution.
bool multiply_conv(const op::Conv& op, Call call, const Epilogue& epilogue);

}  // namespace kiln::cpu::amx
