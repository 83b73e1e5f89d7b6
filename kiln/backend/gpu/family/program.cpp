#include "kiln/backend/gpu/family/program.hpp"

#include "kiln/ops/expression/program.hpp"

namespace kiln::gpu::family {

using op::Program;

ProgramKey::ProgramKey(const Program& of) {
  auto copy = std::make_shared<Program>();
  copy->inputs = of.inputs;
  copy->steps = of.steps;
  copy->outputs = of.outputs;
  program = std::move(copy);
  const auto add = [&](auto number) { words.push_back(static_cast<std::uint32_t>(number)); };
  add(program->inputs.size());
  for (const DType dtype : program->inputs) add(dtype);
  for (const op::ProgramStep& step : program->steps) {
    add(step.op.index());
    if (const auto* unary = std::get_if<op::Unary>(&step.op)) add(unary->fn);
    if (const auto* binary = std::get_if<op::Binary>(&step.op)) add(binary->fn);
    if (const auto* cast = std::get_if<op::Cast>(&step.op)) add(cast->to);
    for (int i = 0; i < op::arity(step.op); ++i) {
      add(step.in[static_cast<std::size_t>(i)].from);
      add(step.in[static_cast<std::size_t>(i)].index);
    }
    add(step.dtype);
  }
  add(program->outputs.size());
  for (const std::uint16_t step : program->outputs) add(step);
}

ProgramKey::ProgramKey(const expr::Tree& of, std::size_t inputs, DType dtype) : tree(&of) {
  auto made = std::make_shared<Program>();
  for (std::size_t i = 0; i < inputs; ++i) made->inputs.push_back(dtype);
  made->steps.push_back({.op = op::Where{}, .dtype = dtype});  // stands for the tree
  made->outputs.push_back(0);
  program = std::move(made);
  // Trees are never moved, so the address identifies one.
  const auto address = reinterpret_cast<std::uintptr_t>(tree);
  for (const auto word : {static_cast<std::uint64_t>(address), static_cast<std::uint64_t>(address) >> 32,
                          static_cast<std::uint64_t>(inputs), static_cast<std::uint64_t>(dtype)})
    words.push_back(static_cast<std::uint32_t>(word));
}

std::uint64_t hash_value(const ProgramKey& key) { return reflect::hash(key.words); }

std::vector<Expr> steps(Builder& k, const Program& program, std::span<const Expr> inputs) {
  std::vector<Expr> results;
  for (const op::ProgramStep& step : program.steps) {
    std::vector<Expr> in;
    for (int i = 0; i < op::arity(step.op); ++i) {
      const op::ProgramOperand from = step.in[static_cast<std::size_t>(i)];
      in.push_back(from.from == op::ProgramOperand::Input ? inputs[from.index] : results[from.index]);
    }
    if (std::holds_alternative<op::Where>(step.op)) {
      // A number may have more digits than the result's type.
      results.push_back(k.narrow(select(in[0] != 0, in[1], in[2]), step.dtype));
    } else if (const auto* cast = std::get_if<op::Cast>(&step.op)) {
      results.push_back(k.convert(in[0], expr::type_of(program, step.in[0]), cast->to));
    } else {
      const Expr value = k.tree(*expr::tree_of(program, step), expr::operand_type(program, step), in);
      results.push_back(value.type() == DType::Bool ? value.as(DType::I32) : k.narrow(value, step.dtype));
    }
  }
  return results;
}

std::vector<Expr> steps(Builder& k, const ProgramKey& program, std::span<const Expr> inputs) {
  if (!program.tree) return steps(k, *program.program, inputs);
  const DType dtype = program.program->steps[0].dtype;
  return {k.narrow(k.tree(*program.tree, dtype, inputs), dtype)};
}

}  // namespace kiln::gpu::family
