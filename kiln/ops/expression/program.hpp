// What the steps of a fused program are to whoever writes them in another language.
#pragma once
#include "kiln/ops/expression/tree.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::expr {

DType type_of(const op::Program& program, op::Program::Operand operand);
/// What the operands of a step are; a number beside a tensor has the tensor's type.
DType operand_type(const op::Program& program, const op::Program::Step& step);
/// The row that a step computes; null where it is a choice or a cast.
const Tree* tree_of(const op::Program& program, const op::Program::Step& step);
/// The element type that a fold reads, and that of its result.
DType folded_type(const op::Program& program, const op::Program::Fold& fold);
DType result_type(const op::Program& program, const op::Program::Fold& fold);

}  // namespace kiln::expr
