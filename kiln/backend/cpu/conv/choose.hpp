// Chooses the algorithm of a convolution or of one of its adjoints. All rules are in choose.cpp.
#pragma once
#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/conv/geometry.hpp"

namespace kiln::cpu::conv {

/// A pass of a convolution with at least one element. `dtype` is the element type; for convolutions of bytes it is that
/// of x.
struct ConvCase {
  Pass pass;
  const Geometry& g;
  DType dtype;
  bool with_bias = false;
  bool with_epilogue = false;    // an epilogue consumes the result piece by piece
  const Value* image = nullptr;  // x, or y for the adjoint in x: its memory layout; null: channels-last
};

/// Chooses by the sizes, the element type and the layouts of the operands, never by the number of threads. The choices
/// with and without an epilogue give the same bits.
Choice choose(const ConvCase& c);

/// Whether the algorithm passes the result y to an epilogue piece by piece. If it does not, the epilogue's program runs
/// afterwards.
bool hands_pieces_over(Algorithm algorithm, const Geometry& g, bool is_simple, const Value& y);

}  // namespace kiln::cpu::conv
