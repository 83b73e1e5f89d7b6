// Convolutions of bfloat16 on tiles, for ConvKernels (engines.hpp).
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::amx {

using conv::Geometry, conv::Operand;

/// Whether the pieces of the convolution are wide enough for an epilogue that runs row by row.
bool has_wide_pieces(const Geometry& g);

void convolve(const Geometry& g, const Operand& x, const Operand& weight, const Operand& bias, Value& y,
              const Epilogue* epilogue);
void convolve_data(const Geometry& g, const Operand& y, const Operand& weight, Value& x);
void convolve_weight(const Geometry& g, const Operand& x, const Operand& y, Value& weight);

}  // namespace kiln::cpu::amx
