// Sums of products in tiles: rows of vectors that are kept in registers while the sum's dimensions are walked, for
// computers. The vectors are the compiler's own (GCC, clang), or one number each where it has none.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "kiln/compile/program.hpp"

namespace kiln::compile {

/// How a loop is cut: blocks of vectors along one kept dimension, for `rows` steps of another one at a time.
struct Tiling {
  int along = -1;   // the dimension of the vectors, in which the result is contiguous
  int across = -1;  // the dimension of the rows, or none
  int rows = 1;
};

/// Returns how the coalesced loop, a Fold, is cut, or nothing where it is no sum of float32 products that would gain.
std::optional<Tiling> tiling(const Program& program, const Loop& loop);

/// Prints the elements' places, and elements as they are computed with.
struct TileText {
  std::function<std::string(const Counts& strides, std::int64_t offset)> place;
  std::function<std::string(int operand, const std::string& element)> loaded;
  std::function<bool(int operand)> is_half;
};
/// The loops of a function's body, which finds its operands by the names out0, in0, in1, ...
std::string printed_tiles(const Loop& loop, const Tiling& tiling, const TileText& text);

/// Defines kiln_vector and KILN_LANES, how many numbers one holds: 1, 4, 8 or 16.
extern const std::string_view kVectors;
/// Defines what programs that keep weights as float16 use besides.
extern const std::string_view kVectorsOfHalves;

}  // namespace kiln::compile
