// Chooses the algorithm of a convolution or of one of its adjoints. All rules are in choose.cpp.
#pragma once
#include <string_view>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/conv/geometry.hpp"

namespace kiln::cpu::conv {

/// A pass of a convolution that is not empty. `dtype` is the element type; for convolutions of bytes it is x's.
struct ConvCase {
  Pass pass;
  const Geometry& g;
  DType dtype;
  bool with_bias = false;
  bool with_epilogue = false;    // pieces of the result are wanted
  const Value* image = nullptr;  // x, or y of the adjoint in x: for how it lies; null: in channels-last order
};

struct Choice {
  Algorithm algorithm;
  std::string_view reason;
};

/// Chooses by the sizes, the type and the layouts of the operands, never by the number of threads. The choices with and
/// without an epilogue give the same bits.
Choice choose(const ConvCase& c);

/// Does the algorithm hand the pieces of the result y over to an epilogue? Where it does not, the epilogue's program runs
/// afterwards.
bool hands_pieces_over(Algorithm algorithm, const Geometry& g, bool is_simple, const Value& y);

}  // namespace kiln::cpu::conv
