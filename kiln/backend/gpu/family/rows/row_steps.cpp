#include "kiln/backend/gpu/family/rows/row_steps.hpp"

#include <algorithm>

#include "kiln/ops/op.hpp"

namespace kiln::gpu::family {
namespace {

/// The type of operand i of an elementwise operation; a number gets the type of the operand that it is combined with.
template <class Op>
DType type_of(const std::vector<std::optional<DType>>& in, std::size_t i, DType result) {
  if (in[i]) return *in[i];
  if (std::is_same_v<Op, op::Where>) return i == 0 ? DType::Bool : result;
  const auto typed = std::ranges::find_if(in, [](const auto& each) { return each.has_value(); });
  return typed == in.end() ? result : **typed;
}

/// A step's operation as a program; one of a single step if it is no program.
std::shared_ptr<const op::Program> program_of(const op::Op& op, const std::vector<std::optional<DType>>& in,
                                              DType result) {
  auto program = std::make_shared<op::Program>();
  if (const auto* fused = std::get_if<op::Fused>(&op.is)) {
    program->inputs = fused->program->inputs;
    program->steps = fused->program->steps;
    program->outputs = fused->program->outputs;
    program->folds = fused->program->folds;
    return program;
  }
  return op::visit(op, [&]<class T>(const T& o) -> std::shared_ptr<const op::Program> {
    if constexpr (op::is_elementwise<T>) {
      op::ProgramStep step{.op = o, .dtype = result};
      for (std::size_t i = 0; i < in.size(); ++i) {
        program->inputs.push_back(type_of<T>(in, i, result));
        step.in[i] = {op::ProgramOperand::Input, static_cast<std::uint16_t>(i)};
      }
      program->steps.push_back(step);
      program->outputs.push_back(0);
      return program;
    }
    return nullptr;
  });
}

}  // namespace

std::optional<RowSteps> row_steps(const op::Sequence& sequence, const op::RowForm& form, const Call& call) {
  RowSteps made;
  std::vector<std::optional<DType>> types;  // by value
  for (const Value& value : call.in) {
    made.numbers.push_back(!value.node());
    made.inputs.push_back(value.node() ? value.dtype() : DType::F32);
    types.push_back(value.node() ? std::optional(value.dtype()) : std::nullopt);
  }
  for (const Desc& result : sequence.results) types.push_back(result.dtype);
  const auto inputs = static_cast<std::uint16_t>(call.in.size());
  const auto say = [&](auto word) { made.words.push_back(static_cast<std::uint32_t>(word)); };
  std::uint16_t next = inputs;
  // The steps at which each value is made or first read, and last read.
  std::vector<std::pair<int, int>> lives(types.size(), {-1, -1});
  for (const op::SequenceStep& step : sequence.steps) {
    const auto at = static_cast<int>(made.steps.size());
    RowStep row{.kind = RowStep::Kind::Program, .first = next};
    std::vector<std::optional<DType>> own;
    for (const op::SequenceOperand from : step.in) {
      row.in.push_back(from.from == op::SequenceOperand::Input ? from.index
                                                               : static_cast<std::uint16_t>(inputs + from.index));
      own.push_back(types[row.in.back()]);
      auto& [begin, end] = lives[row.in.back()];
      if (begin < 0) begin = at;
      end = at;
    }
    if (const auto* reduce = std::get_if<op::Reduce>(&step.op.is)) {
      row.kind = RowStep::Kind::Reduce;
      row.reductions.push_back({reduce->fn, *own[0]});
      if (types[next] != own[0]) return std::nullopt;
    } else if (const auto* softmax = std::get_if<op::Softmax>(&step.op.is)) {
      row.kind = softmax->log ? RowStep::Kind::LogSoftmax : RowStep::Kind::Softmax;
      row.reductions.push_back({op::ReduceFn::Sum, *own[0]});
    } else if (std::holds_alternative<op::Dropout>(step.op.is)) {
      row.kind = RowStep::Kind::Dropout;
      row.reductions.push_back({op::ReduceFn::Sum, *own[op::Dropout::x]});
    } else if (std::holds_alternative<op::Reshape>(step.op.is) || std::holds_alternative<op::Expand>(step.op.is)) {
      row.kind = RowStep::Kind::Same;
    } else {
      row.program = program_of(step.op, own, *types[next]);
      if (!row.program) return std::nullopt;
      for (const op::Program::Fold& fold : row.program->folds)
        row.reductions.push_back({fold.fn, row.program->steps[fold.step].dtype});
    }
    say(row.kind), say(row.in.size()), say(row.reductions.size());
    for (const std::uint16_t value : row.in) say(value);
    if (row.program)
      for (const std::uint32_t word : ProgramKey(*row.program).words) say(word);
    if (row.program)
      for (const op::Program::Fold& fold : row.program->folds) say(fold.step);
    for (const Reduction& reduction : row.reductions) say(reduction.fn), say(reduction.dtype);
    for (std::uint16_t i = 0; i < step.results; ++i) lives[next++] = {at, at};
    made.steps.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < made.inputs.size(); ++i) say(made.inputs[i]), say(made.numbers[i]);
  for (const std::uint16_t output : sequence.outputs) {
    const Desc& desc = sequence.results[output];
    made.outputs.push_back(
        {static_cast<std::uint16_t>(inputs + output), desc.dtype, numel(desc.shape) == form.count()});
    say(output), say(desc.dtype), say(made.outputs.back().full);
  }
  for (int step = 0; step + 1 < static_cast<int>(made.steps.size()); ++step) {
    std::int64_t alive = 0;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      const std::int64_t count =
          i < inputs ? call.in[i].node() ? call.in[i].numel() : 0 : numel(sequence.results[i - inputs].shape);
      alive += count == form.count() && lives[i].first <= step && lives[i].second > step;
    }
    made.held = std::max(made.held, alive);
  }
  return made;
}

std::pair<Shape, int> seen_by(const op::SequenceStep& step, const Shape& operand, const Shape& result,
                              const op::RowForm& form) {
  Shape shape = result;
  if (const auto* fused = std::get_if<op::Fused>(&step.op.is)) shape = fused->program->shape;
  else if (std::holds_alternative<op::Reduce>(step.op.is)) shape = operand;
  int kept = shape.size();
  for (std::int64_t length = numel(shape) == form.rows ? form.length : 1; kept > 0 && length < form.length;)
    length *= shape[--kept];
  return {shape, kept};
}

}  // namespace kiln::gpu::family
