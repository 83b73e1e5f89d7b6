// Convolutions of bfloat16 on tiles, for ConvKernels (engines.hpp).
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"

namespace kiln::cpu::amx {

using conv::Geometry, conv::ConvOperand;

/// Whether the pieces of the convolution are wide enough for an epilogue that runs row by row.
bool has_wide_pieces(const Geometry& g);

void convolve(const Geometry& g, const ConvOperand& x, const ConvOperand& weight, const ConvOperand& bias, Value& y,
              const Epilogue* epilogue);
void convolve_data(const Geometry& g, const ConvOperand& y, const ConvOperand& weight, Value& x);
void convolve_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& weight);

}  // namespace kiln::cpu::amx
