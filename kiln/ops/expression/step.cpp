#include "kiln/ops/expression/step.hpp"

#include "kiln/ops/expression/convert.hpp"
#include "kiln/ops/expression/program.hpp"

namespace kiln::expr {

std::string printed_step(Printer& printer, const op::Program& program, const op::ProgramStep& step,
                         FunctionRef<std::string(op::ProgramOperand)> name_of,
                         FunctionRef<bool(op::ProgramOperand)> is_number) {
  if (std::holds_alternative<op::Where>(step.op)) {
    const std::string condition = text(name_of(step.in[0]), " != ", printer.literal("0", DType::Bool));
    const std::string choice = printer.choice(condition, name_of(step.in[1]), name_of(step.in[2]));
    // A number operand may have more digits than the result's type.
    return is_number(step.in[1]) || is_number(step.in[2]) ? narrowed(printer, choice, step.dtype) : choice;
  }
  if (const auto* cast = std::get_if<op::Cast>(&step.op))
    return converted(printer, name_of(step.in[0]), type_of(program, step.in[0]), cast->to);
  const Tree& tree = *tree_of(program, step);
  const std::string names[] = {name_of(step.in[0]), op::arity(step.op) > 1 ? name_of(step.in[1]) : std::string()};
  const std::string value = printer.expression(tree, operand_type(program, step), names);
  if (tree.root().type != Type::Bool) return narrowed(printer, value, step.dtype);
  return printer.choice(value, printer.literal("1", DType::Bool), printer.literal("0", DType::Bool));
}

}  // namespace kiln::expr
