// A value that is not yet in memory: an expression of elements in memory, for each element of a shape. Views of it move
// its places, elementwise ops add steps to it.
#pragma once
#include "kiln/compile/program.hpp"
#include "kiln/core/shape.hpp"

namespace kiln::compile {

struct View {
  Shape shape{};
  Expression value{};

  DType dtype() const { return value.dtype(); }
  /// Whether it is an element of a buffer for each index, which no other element chooses.
  bool is_plain() const;
  bool is_number() const;
  /// Whether it is computed from narrow integers by few steps, so that computing it again at each use is better than
  /// keeping it.
  bool is_cheap(const Program& program) const;
  /// The access of a plain view.
  const Access& access() const { return value.in[value.value.index].access; }
};

View number_view(const Scalar& number, DType dtype, const Shape& shape = {});
/// All elements of a buffer in row-major order.
View buffer_view(int buffer, DType dtype, const Shape& shape);

/// The views that ops of the module `view` make. reshaped() returns false where no strides show the elements so.
bool reshaped(View& view, const Shape& shape);
View permuted(View view, const Dims& dims);
/// The view broadcast to `shape`, as elementwise ops do it.
View expanded(View view, const Shape& shape);
View sliced(View view, const Dims& begin, const Dims& step, const Shape& size);
View unfolded(View view, int dim, std::int64_t step, std::int64_t dilation, const Shape& shape);

/// Appends the operands and steps of `part` to `whole`; returns where its value is then.
op::ProgramOperand append(Expression& whole, const Expression& part);
/// Arithmetic, for combined(): only one source here reads elementwise.def.
extern const op::Binary kAdd, kSubtract, kMultiply, kDivide, kLess, kEqual, kMaximum, kMinimum;
/// `op` of operands that have been broadcast to one shape.
View combined(const op::Elementwise& op, DType dtype, const Shape& shape, const std::vector<View>& operands);

}  // namespace kiln::compile
