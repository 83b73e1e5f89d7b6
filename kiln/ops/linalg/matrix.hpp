// Helpers of the linear algebra ops: checks of matrix operands, and their sizes. A tensor [..., m, n] is a batch of
// m x n matrices.
#pragma once
#include <initializer_list>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/value.hpp"

namespace kiln::op {

/// Throws unless `a` is a tensor of float32 or float64 with at least two dimensions.
void require_matrix(std::string_view op, const Value& a);
void require_square(std::string_view op, const Value& a);

/// The sizes before the last two.
inline Shape batch_of(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }
inline std::int64_t rows_of(const Shape& shape) { return shape[shape.size() - 2]; }
inline std::int64_t columns_of(const Shape& shape) { return shape.back(); }
/// `batch` followed by `sizes`.
Shape batched(Shape batch, std::initializer_list<std::int64_t> sizes);

/// "matrix [1, 2] of float32 [3, 4, 5, 5]" for matrix `index` of the batch; "float32 [5, 5]" where there is no batch.
std::string matrix_name(const Value& a, std::int64_t index);

/// A 0 whose derivative by x is NaN where `none` is true: it is added to a result that has no derivative there.
Value zero_without_slope(const Value& x, const Value& none);

/// The identity matrix [size, size] with the type and device of `like`.
Value identity(std::int64_t size, const Value& like);

}  // namespace kiln::op
