// The algorithms for what several of them can compute. conv/choose.hpp chooses one for each convolution,
// matmul/choose.hpp one for each product of matrices.
#pragma once
#include <bitset>
#include <cstdint>
#include <string_view>

namespace kiln::cpu {

enum class Algorithm : std::uint8_t {
  Reference,  // the plain loops of reference/
  Float32,    // the call on float32 copies, by the algorithm that computes it there

  // Convolutions
  DepthwisePlanes,   // a kernel for each channel, of operands in row-major order
  Depthwise,         // a kernel for each channel, of operands in channels-last order
  Direct,            // loops for few channels
  Winograd,          // F(2 x 2, 3 x 3)
  Tiles,             // the tiles of matrix products, which read windows in place
  WeightTiles,       // the same tiles, for the gradient of a weight
  PlaneSum,          // one channel as a sum of the planes of x
  Windows,           // a product of matrices, one of which has the windows of x as rows
  OnednnConv,        // oneDNN
  AmxConv,           // bfloat16 on tiles, or on vectors of pairs, which read windows in place
  IntegerDepthwise,  // bytes in float32, a kernel for each channel
  IntegerConv,       // bytes, as a product of their windows

  // Products of matrices
  Dots,            // sums in the lanes of a vector
  FewRows,         // few rows by a matrix that is read once, row by row
  ProductTiles,    // tiles of sums in registers
  Int16,           // bytes on copies of 16 bits
  FewHalves,       // few vectors by a matrix of halves, which become floats in registers
  OnednnMatmul,    // oneDNN
  AmxMatmul,       // bfloat16 on tiles, or vectors of pairs
  IntegerAmx,      // bytes on tiles
  IntegerVnni,     // bytes on AVX-512's products of four (VNNI)
  IntegerVectors,  // bytes on the vectors of any processor

  // Programs of elementwise steps, reductions and norms
  Chains,        // values stay in registers from step to step; else a tile of elements goes through all steps
  Clamp,         // a maximum and a minimum in one pass over any type
  MappedSum,     // sums of squares, and sums that skip NaN, read from the operand in place
  SimpleFinish,  // the steps after a product are applied to its sums in registers
  ShortRows,     // operands of a binary function in short rows, without gathering many of them first
  AmxAttention,  // bfloat16 on tiles, or on vectors of pairs
};

/// An algorithm, and why it was chosen.
struct Choice {
  Algorithm algorithm;
  std::string_view reason;
};

using AlgorithmSet = std::bitset<64>;

/// Returns the algorithms that `list` names, "winograd,direct". Throws ArgumentError for other names, and for
/// algorithms that others depend on.
AlgorithmSet algorithms_in(std::string_view list);

/// Whether KILN_WITHOUT in the environment, which is read once, names the algorithm. Such an algorithm computes
/// nothing: each call goes to the next one that can compute it, so that a benchmark shows what the algorithm gains.
bool is_disabled(Algorithm algorithm);

/// Leaves these out instead of those that KILN_WITHOUT names, in tests. Must not be called while work is running.
void disable(const AlgorithmSet& algorithms);

}  // namespace kiln::cpu
