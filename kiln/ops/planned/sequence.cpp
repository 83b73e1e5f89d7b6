#include "kiln/ops/planned/sequence.hpp"

#include "kiln/ops/expand.hpp"

namespace kiln::op {
namespace {

/// Returns the op of a step for results whose dimension `axis` has another size.
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

}  // namespace

Descs RowBlocked::infer(Inputs) const { fail<ArgumentError>("row_blocked: a plan's op is not for emit()"); }
void RowBlocked::vjp(Backward&) const { fail<ArgumentError>("row_blocked: a plan's op has no gradient"); }
Values RowBlocked::expand(Inputs in) const { return blocks->sequence.expand(in); }

Descs RowFused::infer(Inputs) const { fail<ArgumentError>("row_fused: a plan's op is not for emit()"); }
void RowFused::vjp(Backward&) const { fail<ArgumentError>("row_fused: a plan's op has no gradient"); }
Values RowFused::expand(Inputs in) const { return sequence->expand(in); }

Values Sequence::expand(Inputs in) const {
  Values made;
  for (const SequenceStep& step : steps) {
    Values operands;
    for (const SequenceOperand from : step.in)
      operands.push_back(from.from == SequenceOperand::Input ? in[from.index] : made[from.index]);
    for (Value& result : emit_part(step.op, operands)) made.push_back(std::move(result));
  }
  Values expanded;
  for (const std::uint16_t output : outputs) expanded.push_back(made[output]);
  return expanded;
}

void RowBlocks::derive_steps() {
  for (const SequenceStep& step : sequence.steps)
    steps.push_back({resized(step.op, axis, block), resized(step.op, axis, rows % block)});
}

const Sequence* sequence_of(const Op& op) {
  return visit(op, []<class T>(const T& o) -> const Sequence* {
    if constexpr (std::is_same_v<T, RowBlocked>) return &o.blocks->sequence;
    else if constexpr (std::is_same_v<T, RowFused>) return o.sequence.get();
    else return nullptr;
  });
}

}  // namespace kiln::op
