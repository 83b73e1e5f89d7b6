// Diagonals and triangles. Diagonal `offset` begins that many columns to the right of the main diagonal (to the left
// where negative); matrices are the last two dimensions, unless dimensions are named.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// The diagonal, as the last dimension; a view where x's rows are contiguous. dim1 counts rows, dim2 columns.
Value diagonal(const Value& x, std::int64_t offset = 0, Dim dim1 = -2, Dim dim2 = -1);
/// x with that diagonal replaced by source, which has its shape.
Value diagonal_scatter(const Value& x, const Value& source, std::int64_t offset = 0, Dim dim1 = -2, Dim dim2 = -1);
/// [..., n] -> matrices with that diagonal and zeros elsewhere; their rows are dimension dim1, the columns dim2.
Value diag_embed(const Value& x, std::int64_t offset = 0, Dim dim1 = -2, Dim dim2 = -1);
/// A vector becomes a matrix with that diagonal, a matrix becomes its diagonal.
Value diag(const Value& x, std::int64_t offset = 0);
/// The sum of the diagonal.
Value trace(const Value& x);

/// x with zeros below (triu) or above (tril) the diagonal.
Value triu(const Value& x, std::int64_t offset = 0);
Value tril(const Value& x, std::int64_t offset = 0);
/// Masks of shape [rows, columns]: true on the diagonal and above it (triu), on and below it (tril), or only on it
/// (diag).
Value triu_mask(const Shape& shape, const Device& device, std::int64_t offset = 0);
Value tril_mask(const Shape& shape, const Device& device, std::int64_t offset = 0);
Value diag_mask(const Shape& shape, const Device& device, std::int64_t offset = 0);

}  // namespace kiln
