// Tensors as elements with strides in one block of memory, for any device that can address it: element [i, j, ...] lies
// i * strides[0] + j * strides[1] + ... elements behind the node's offset. Nothing here looks at an element.
#pragma once
#include <optional>

#include "kiln/ops/backend.hpp"

namespace kiln::op {
struct Program;
}

namespace kiln::strided {

/// In row-major order without gaps (dimensions of size 1 may have any stride, and so may an empty array).
bool is_contiguous(const Shape& shape, const Dims& strides);
/// Without gaps or overlap, in whatever order. An empty array is not.
bool is_dense(const Shape& shape, const Dims& strides);
/// Do both say the same of every element? Dimensions of size 1 say nothing.
bool same_order(const Shape& shape, const Dims& a, const Dims& b);
/// Strides that cover `shape` without gaps in the memory order of the operands, so that channels-last data stay
/// channels-last through elementwise ops: the first dense one of that shape decides that is not row-major. So an operand
/// that is row-major, as zeros are, or a number instead of it make no difference.
Dims follow_order(const Shape& shape, Inputs in);
/// In what order the results of a program lie where its operations run one at a time on tensors of this shape; none where
/// they lie in several. `missing`: that of an operand which is not there.
std::optional<Dims> result_order(const op::Program& program, const Shape& shape, Inputs in,
                                 const Dims* missing = nullptr);
/// Strides under which elements of `from` are seen as `shape`, which broadcasts from it: 0 along what is repeated.
Dims broadcast_strides(const Shape& from, const Dims& strides, const Shape& shape);
/// Strides that show the same elements, in row-major order, as another shape of as many; none where they must be moved.
std::optional<Dims> reshaped_strides(const Shape& from, const Dims& strides, const Shape& shape);
/// How many elements behind the first one of an array a slice begins; an empty slice begins nowhere: 0.
std::int64_t slice_offset(const Dims& strides, const Dims& begin, const Shape& size);
/// Strides of every step-th element.
Dims stepped_strides(const Dims& strides, const Dims& step);

/// Makes a result a view of an operand's memory.
void alias(Value& result, const Value& operand, const Dims& strides, std::int64_t offset);

}  // namespace kiln::strided
