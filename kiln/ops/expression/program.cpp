#include "kiln/ops/expression/program.hpp"

#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/expression/rows.hpp"

namespace kiln::expr {

using op::Program;

DType type_of(const Program& program, op::ProgramOperand operand) {
  return operand.from == op::ProgramOperand::Input ? program.inputs[operand.index] : program.steps[operand.index].dtype;
}

DType operand_type(const Program& program, const op::ProgramStep& step) {
  return type_of(program, step.in[std::holds_alternative<op::Where>(step.op) ? 1 : 0]);
}

const Tree* tree_of(const Program& program, const op::ProgramStep& step) {
  if (const auto* unary = std::get_if<op::Unary>(&step.op)) {
    // The complement of a boolean has one bit.
    const bool one_bit = unary->fn == op::UnaryFn::BitwiseNot && operand_type(program, step) == DType::Bool;
    return &tree(one_bit ? op::UnaryFn::LogicalNot : unary->fn);
  }
  if (const auto* binary = std::get_if<op::Binary>(&step.op)) return &tree(binary->fn);
  return nullptr;
}

DType folded_type(const Program& program, const Program::Fold& fold) { return program.steps[fold.step].dtype; }

DType result_type(const Program& program, const Program::Fold& fold) {
  const DType dtype = folded_type(program, fold);
  const bool adds = fold.fn == op::ReduceFn::Sum || fold.fn == op::ReduceFn::Prod;
  return adds && !is_float(dtype) ? DType::I64 : dtype;
}

}  // namespace kiln::expr
