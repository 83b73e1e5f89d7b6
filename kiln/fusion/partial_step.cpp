#include "kiln/fusion/partial_step.hpp"

#include <algorithm>

#include "kiln/ops/planned/sequence.hpp"

namespace kiln::fusion {
namespace {

using std::size_t;

/// An operation that computes some results of another one. `in` lists which of that one's operands it takes, in order.
struct PartialOp {
  op::Op op;
  std::vector<size_t> in;
};

/// The indices of the marked items, and for each item the number of marked ones before it.
struct MarkedIndices {
  explicit MarkedIndices(const std::vector<bool>& marked) : position(marked.size()) {
    for (size_t i = 0; i < marked.size(); ++i) {
      position[i] = static_cast<std::uint16_t>(all.size());
      if (marked[i]) all.push_back(i);
    }
  }
  std::vector<size_t> all;
  std::vector<std::uint16_t> position;
};

/// Returns the part of a program that leads to the wanted results. `inputs` receives the indices of its inputs.
std::shared_ptr<const op::Program> with_results(const op::Program& program, const std::vector<bool>& wanted,
                                                std::vector<size_t>& inputs) {
  using Operand = op::ProgramOperand;
  std::vector<bool> steps(program.steps.size()), read(program.inputs.size());
  const size_t outputs = program.outputs.size();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) steps[i < outputs ? program.outputs[i] : program.folds[i - outputs].step] = true;
  for (size_t i = steps.size(); i-- > 0;) {
    if (!steps[i]) continue;
    for (int k = 0; k < op::arity(program.steps[i].op); ++k) {
      const Operand from = program.steps[i].in[static_cast<size_t>(k)];
      (from.from == Operand::Result ? steps : read)[from.index] = true;
    }
  }
  const MarkedIndices kept_steps(steps), kept_inputs(read);
  auto part = std::make_shared<op::Program>();
  part->shape = program.shape;
  for (const size_t input : kept_inputs.all) part->inputs.push_back(program.inputs[input]);
  for (const size_t step : kept_steps.all) {
    part->steps.push_back(program.steps[step]);
    for (Operand& from : part->steps.back().in)
      from.index = (from.from == Operand::Result ? kept_steps : kept_inputs).position[from.index];
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    if (i < outputs) part->outputs.push_back(kept_steps.position[program.outputs[i]]);
    else part->folds.push_back(program.folds[i - outputs]);
    if (i >= outputs) part->folds.back().step = kept_steps.position[part->folds.back().step];
  }
  inputs = kept_inputs.all;
  return part;
}

PartialOp with_results(const op::Op& op, size_t operands, const std::vector<bool>& wanted);

PartialOp with_results(const op::Epilogue& op, const std::vector<bool>& wanted) {
  std::vector<size_t> inputs;
  auto program = with_results(*op.program, wanted, inputs);
  const auto product = std::ranges::find(inputs, op.input);
  PartialOp part{op::Op(op::Fused{program}), {}};
  if (product != inputs.end()) {
    op::Epilogue left = op;
    left.program = std::move(program);
    left.input = static_cast<std::uint16_t>(product - inputs.begin());
    part.op = left;
    for (size_t i = 0; i < op.operands; ++i) part.in.push_back(i);
  }
  for (const size_t input : inputs)
    if (input != op.input) part.in.push_back(op.operands + input - (input > op.input));
  return part;
}

/// Fills `part` with the steps of a sequence that lead to the wanted results. Returns the operands that they take.
std::vector<size_t> fill_part(op::Sequence& part, const op::Sequence& sequence, size_t operands,
                              const std::vector<bool>& wanted) {
  using Operand = op::SequenceOperand;
  std::vector<bool> results(sequence.results.size()), read(operands);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) results[sequence.outputs[i]] = true;
  std::vector<op::SequenceStep> steps;  // in reverse order
  size_t first = sequence.results.size();
  for (auto step = sequence.steps.rbegin(); step != sequence.steps.rend(); ++step) {
    first -= step->results;
    const std::vector<bool> own(results.begin() + static_cast<std::ptrdiff_t>(first),
                                results.begin() + static_cast<std::ptrdiff_t>(first + step->results));
    const auto count = std::ranges::count(own, true);
    if (count == 0) continue;
    const PartialOp own_part = with_results(step->op, step->in.size(), own);
    op::SequenceStep left{own_part.op, {}, static_cast<std::uint16_t>(count)};
    for (const size_t operand : own_part.in) {
      const Operand from = step->in[operand];
      (from.from == Operand::Result ? results : read)[from.index] = true;
      left.in.push_back(from);
    }
    steps.push_back(std::move(left));
  }
  std::ranges::reverse(steps);

  const MarkedIndices kept_results(results), kept_operands(read);
  for (op::SequenceStep& step : steps)
    for (Operand& from : step.in)
      from.index = (from.from == Operand::Result ? kept_results : kept_operands).position[from.index];
  part.steps = std::move(steps);
  for (const size_t result : kept_results.all) part.results.push_back(sequence.results[result]);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) part.outputs.push_back(kept_results.position[sequence.outputs[i]]);
  return kept_operands.all;
}

PartialOp with_results(const op::RowBlocked& op, size_t operands, const std::vector<bool>& wanted) {
  const auto blocks = std::make_shared<op::RowBlocks>();
  std::vector<size_t> in = fill_part(blocks->sequence, op.blocks->sequence, operands, wanted);
  blocks->axis = op.blocks->axis;
  blocks->rows = op.blocks->rows;
  blocks->block = op.blocks->block;
  blocks->derive_steps();
  return {op::RowBlocked{blocks}, std::move(in)};
}

PartialOp with_results(const op::RowFused& op, size_t operands, const std::vector<bool>& wanted) {
  const auto sequence = std::make_shared<op::Sequence>();
  std::vector<size_t> in = fill_part(*sequence, *op.sequence, operands, wanted);
  return {op::RowFused{sequence, op.rows}, std::move(in)};
}

PartialOp with_results(const op::BatchedOps& parts, const std::vector<bool>& wanted) {
  const auto result = static_cast<size_t>(std::ranges::find(wanted, true) - wanted.begin());
  const auto whole = std::ranges::find_if(
      parts.all, [&](const op::BatchedOp& each) { return result - each.results.first < each.results.count; });
  std::vector<bool> own(whole->results.count);
  own[result - whole->results.first] = true;
  PartialOp part = with_results(whole->op, whole->operands.count, own);
  for (size_t& operand : part.in) operand += whole->operands.first;
  return part;
}

PartialOp with_results(const op::Op& op, size_t operands, const std::vector<bool>& wanted) {
  return op::visit(op, [&]<class T>(const T& o) -> PartialOp {
    if constexpr (std::is_same_v<T, op::Fused>) {
      std::vector<size_t> inputs;
      const op::Fused part{with_results(*o.program, wanted, inputs)};
      return {part, std::move(inputs)};
    } else if constexpr (std::is_same_v<T, op::Epilogue>) {
      return with_results(o, wanted);
    } else if constexpr (std::is_same_v<T, op::RowBlocked> || std::is_same_v<T, op::RowFused>) {
      return with_results(o, operands, wanted);
    } else if constexpr (std::is_same_v<T, op::Batched>) {
      return with_results(*o.parts, wanted);
    } else {
      PartialOp part{op, {}};
      for (size_t i = 0; i < operands; ++i) part.in.push_back(i);
      return part;
    }
  });
}

}  // namespace

bool is_divisible(const PlanStep& step) {
  return step.out.size() > 1 && op::visit(step.op, []<class T>(const T&) { return op::Planned<T>; });
}

PlanStep with_results(const PlanStep& step, std::size_t index) {
  std::vector<bool> wanted(step.out.size());
  wanted[index] = true;
  PartialOp part = with_results(step.op, step.in.size(), wanted);
  PlanStep result{std::move(part.op), step.last_entry, {}, {step.out[index]}, {}};
  for (const size_t operand : part.in) result.in.push_back(step.in[operand]);
  return result;
}

}  // namespace kiln::fusion
