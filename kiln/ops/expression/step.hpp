// Prints a step of a fused program as an expression.
#pragma once
#include "kiln/core/function_ref.hpp"
#include "kiln/ops/expression/print.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::expr {

/// Prints the value of `step` in the type that its result is computed in, rounded to its element type. `name_of` gives
/// the text of an operand; `is_number` says whether an operand is a plain number, which may have more digits than the
/// result's type.
std::string printed_step(Printer& printer, const op::Program& program, const op::ProgramStep& step,
                         FunctionRef<std::string(op::ProgramOperand)> name_of,
                         FunctionRef<bool(op::ProgramOperand)> is_number);

}  // namespace kiln::expr
