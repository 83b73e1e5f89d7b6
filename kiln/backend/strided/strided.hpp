// Tensors as elements with strides in one block of memory, for any device with addressable memory: element [i, j, ...]
// is i * strides[0] + j * strides[1] + ... elements after the node's offset. No function here reads an element.
#pragma once
#include <optional>

#include "kiln/ops/backend.hpp"

namespace kiln::op {
struct Program;
}

namespace kiln::strided {

/// Whether it is in row-major order without gaps (dimensions of size 1 may have any stride, and so may an empty array).
bool is_contiguous(const Shape& shape, const Dims& strides);
/// Whether it has neither gaps nor overlap, in any order. False for an empty array.
bool is_dense(const Shape& shape, const Dims& strides);
/// Whether both place every element alike. Strides of dimensions of size 1 do not matter.
bool same_order(const Shape& shape, const Dims& a, const Dims& b);
/// Strides that cover `shape` without gaps in the memory order of the operands, so that channels-last data stay
/// channels-last through elementwise ops. The first dense operand of that shape that is not row-major decides; an
/// operand that is row-major, as zeros are, or a number in its place makes no difference.
Dims follow_order(const Shape& shape, Inputs in);
/// The memory order that a program's results have if its operations run one at a time on tensors of this shape; nothing
/// if they have different ones. `missing`: the order of an operand that is absent.
std::optional<Dims> result_order(const op::Program& program, const Shape& shape, Inputs in,
                                 const Dims* missing = nullptr);
/// Strides that show elements of `from` as `shape`, to which it broadcasts: 0 along repeated dimensions.
Dims broadcast_strides(const Shape& from, const Dims& strides, const Shape& shape);
/// Strides that show the same elements, in row-major order, in another shape of as many; nothing where they must be
/// moved.
std::optional<Dims> reshaped_strides(const Shape& from, const Dims& strides, const Shape& shape);
/// The offset of a slice from the first element of an array, in elements; 0 for an empty slice.
std::int64_t slice_offset(const Dims& strides, const Dims& begin, const Shape& size);
/// The strides of every step-th element.
Dims stepped_strides(const Dims& strides, const Dims& step);

/// Makes a result a view of an operand's memory.
void alias(Value& result, const Value& operand, const Dims& strides, std::int64_t offset);

}  // namespace kiln::strided
