// Combines tensors: concatenation, padding, grids.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

// ---- side by side --------------------------------------------------------------------------------------------------
/// Concatenates horizontally: along dimension 1, or 0 for vectors and scalars.
Value hstack(Inputs parts);
/// Concatenates vertically: vectors are rows.
Value vstack(Inputs parts);
/// Concatenates along dimension 2: a vector is [1, n, 1], a matrix [m, n, 1].
Value dstack(Inputs parts);
/// Places matrices along the diagonal of a matrix that is zero elsewhere.
Value block_diag(Inputs parts);

// ---- padding -------------------------------------------------------------------------------------------------------
enum class PadMode : std::uint8_t {
  Constant,  // zeros
  Reflect,   // c b | a b c | b a: mirrored at the outermost element; fewer elements than there are
  Edge,      // a a | a b c | c c: the outermost element repeated ("replicate")
  Circular,  // b c | a b c | a b: the other end ("wrap"); at most as many elements as there are
};
/// `before` and `after` give the number of elements to add at either end of each dimension; negative numbers remove
/// elements.
Value pad(const Value& x, const Dims& before, const Dims& after, PadMode mode);

// ---- grids ---------------------------------------------------------------------------------------------------------
/// Whether the first vector varies along dimension 0 of a grid (matrix indexing) or along dimension 1 (x before y).
enum class GridOrder : std::uint8_t { IJ, XY };
/// Vectors of n, m, ... elements -> one tensor [n, m, ...] per vector, which varies along one dimension; the results
/// are views.
Values meshgrid(Inputs vectors, GridOrder order = GridOrder::IJ);
/// meshgrid() as one tensor [n, m, ..., vectors].
Value meshgrid_stack(Inputs vectors, GridOrder order = GridOrder::IJ);
/// [sizes..., rank]: the index of each element, int64.
Value cartesian_grid(const Shape& shape, const Device& device);
/// [n * m * ..., vectors]: all choices of one element from each vector; the last vector changes fastest.
Value cartesian_prod(Inputs vectors);
/// [choices, count]: all choices of `count` elements of a vector, in its order; if `again`, elements may repeat.
Value combinations(const Value& x, std::int64_t count = 2, bool again = false);

}  // namespace kiln
