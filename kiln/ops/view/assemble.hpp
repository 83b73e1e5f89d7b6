// Putting tensors together: side by side, round an edge, into grids.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

// ---- side by side --------------------------------------------------------------------------------------------------
/// One after the other: along dimension 1, or 0 for vectors and scalars.
Value hstack(Inputs parts);
/// One below the other: vectors are rows.
Value vstack(Inputs parts);
/// One behind the other, along dimension 2: a vector is [1, n, 1], a matrix [m, n, 1].
Value dstack(Inputs parts);
/// Matrices along the diagonal of one that is zero elsewhere.
Value block_diag(Inputs parts);

// ---- round an edge -------------------------------------------------------------------------------------------------
enum class PadMode : std::uint8_t {
  Constant,  // zeros
  Reflect,   // c b | a b c | b a: mirrored at the outermost element; fewer than there are
  Edge,      // a a | a b c | c c: the outermost element again ("replicate")
  Circular,  // b c | a b c | a b: the other end ("wrap"); at most as many as there are
};
/// `before` and `after` give the elements to add at either end of each dimension; negative numbers take some away.
Value pad(const Value& x, const Dims& before, const Dims& after, PadMode mode);

// ---- grids ---------------------------------------------------------------------------------------------------------
/// Whether the first vector runs along dimension 0 of a grid (matrix indexing) or along dimension 1 (x before y).
enum class GridOrder : std::uint8_t { IJ, XY };
/// Vectors of n, m, ... elements -> as many tensors [n, m, ...], each of which varies along one dimension; views.
Values meshgrid(Inputs vectors, GridOrder order = GridOrder::IJ);
/// The same in one tensor [n, m, ..., vectors].
Value meshgrid_stack(Inputs vectors, GridOrder order = GridOrder::IJ);
/// [sizes..., rank]: each element's own index, int64.
Value cartesian_grid(const Shape& shape, const Device& device);
/// [n * m * ..., vectors]: every choice of an element from each, the last changing fastest.
Value cartesian_prod(Inputs vectors);
/// [choices, count]: every choice of `count` elements of a vector, in its order; with an element again, if `again`.
Value combinations(const Value& x, std::int64_t count = 2, bool again = false);

}  // namespace kiln
