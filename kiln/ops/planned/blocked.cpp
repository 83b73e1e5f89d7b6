#include "kiln/ops/planned/blocked.hpp"

#include "kiln/ops/expand.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::op {

Descs Blocked::infer(Inputs) const { fail<ArgumentError>("blocked: a plan's op is not for emit()"); }
void Blocked::vjp(Backward&) const { fail<ArgumentError>("blocked: a plan's op has no gradient"); }

Values Blocked::expand(Inputs in) const {
  Values results;
  for (const Sequence::Step& step : sequence->steps) {
    Values operands;
    for (const Sequence::Operand from : step.in)
      operands.push_back(from.from == Sequence::Operand::Input ? in[from.index] : results[from.index]);
    for (Value& result : emit_part(step.whole, operands)) results.push_back(std::move(result));
  }
  Values outputs;
  for (const std::uint16_t output : sequence->outputs) outputs.push_back(results[output]);
  return outputs;
}

Op resized(const Op& op, int axis, std::int64_t size) {
  const auto* fused = std::get_if<Fused>(&op.is);
  if (!fused) return op;
  auto program = std::make_shared<Program>();
  program->shape = fused->program->shape;
  program->shape[axis] = size;
  program->inputs = fused->program->inputs;
  program->steps = fused->program->steps;
  program->outputs = fused->program->outputs;
  program->folds = fused->program->folds;
  return Fused{std::move(program)};
}

}  // namespace kiln::op
