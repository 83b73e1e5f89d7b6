// Lengths of vectors, norms of matrices, distances. Half types are computed in float32 and returned as such, integers
// give float32. Where a length is zero, so is its gradient.
#pragma once
#include <limits>

#include "kiln/ops/functions.hpp"

namespace kiln {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// (sum of |x|^p)^(1 / p) over `dims`, or over all, for any p; 0 counts the elements that are not zero, infinity and
/// minus infinity give the largest and the smallest magnitude.
Value vector_norm(const Value& x, double p = 2);
Value vector_norm(const Value& x, double p, const Dims& dims, bool keep = false);
/// vector_norm along one dimension; the functions below are named for their p.
Value lp_norm(const Value& x, double p, Dim dim, bool keep = false);
Value l0_norm(const Value& x, Dim dim, bool keep = false);
Value l1_norm(const Value& x, Dim dim, bool keep = false);
Value l2_norm(const Value& x, Dim dim, bool keep = false);
Value max_abs_norm(const Value& x, Dim dim, bool keep = false);
Value min_abs_norm(const Value& x, Dim dim, bool keep = false);
/// x / max(vector_norm, epsilon) along `dim`.
Value vector_normalize(const Value& x, double p = 2, Dim dim = -1, double epsilon = 1e-12);

enum class MatrixNorm : std::uint8_t {
  Frobenius,  // the root of the sum of squares
  Nuclear,    // the sum of singular values
  Spectral,   // the largest singular value
  One,        // the largest sum of magnitudes of a column
  Infinity,   // the largest sum of magnitudes of a row
  // Orders -2, -1 and minus infinity, which are not norms:
  MinusTwo,       // the smallest singular value
  MinusOne,       // the smallest sum of magnitudes of a column
  MinusInfinity,  // the smallest sum of magnitudes of a row
};
/// [..., m, n] -> [...]. Where the singular values that determine the norm are equal, or one in the nuclear norm is
/// zero, there is no derivative: NaN.
Value matrix_norm(const Value& a, MatrixNorm norm = MatrixNorm::Frobenius);

/// x . y / (max(|x|, epsilon) max(|y|, epsilon)) along `dim`; operands broadcast.
Value cosine_similarity(const Value& x, const Value& y, Dim dim = -1, double epsilon = 1e-8);
/// vector_norm(x - y, p) along the last dimension; operands broadcast.
Value pairwise_distance(const Value& x, const Value& y, double p = 2, bool keep = false);
/// x [..., m, d] and y [..., n, d] -> [..., m, n]: the distance of every row of x to every row of y.
/// `through_matmul` is for p = 2: it computes |x|² + |y|² - 2 x . y, in less time and memory, but distances below the
/// square root of epsilon times the spread of the rows are lost in rounding.
Value cdist(const Value& x, const Value& y, double p = 2, bool through_matmul = false);
/// The distances between rows of x [m, d], each pair once: [m (m - 1) / 2], from row 0 to 1, 2, ..., then from row 1 to
/// 2, ...
Value pdist(const Value& x, double p = 2);
/// x with each slice of `dim` whose vector_norm exceeds `limit` scaled down to it.
Value renorm(const Value& x, double p, Dim dim, double limit);

}  // namespace kiln
