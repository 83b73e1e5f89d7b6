// Properties of a fused program's steps, for printing them in another language.
#pragma once
#include "kiln/ops/expression/tree.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::expr {

DType type_of(const op::Program& program, op::ProgramOperand operand);
/// The type of a step's operands; a number beside a tensor has the tensor's type.
DType operand_type(const op::Program& program, const op::ProgramStep& step);
/// The tree that a step computes; null for a selection or a cast.
const Tree* tree_of(const op::Program& program, const op::ProgramStep& step);
/// The element type that a reduction reads, and the type of its result.
DType folded_type(const op::Program& program, const op::Program::Fold& fold);
DType result_type(const op::Program& program, const op::Program::Fold& fold);

}  // namespace kiln::expr
