#include "kiln/wire/planned.hpp"

#include <algorithm>

#include "kiln/ops/planned/sequence.hpp"
#include "kiln/wire/call.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln::wire {
namespace {

using std::size_t;

constexpr size_t kMost = 0xffff;  // the limit of indices in planned ops

std::uint16_t read_index(Reader& in, size_t count, std::string_view of) {
  const std::uint64_t index = in.whole();
  if (index >= count) in.wrong(of, ' ', index, " of ", count);
  return static_cast<std::uint16_t>(index);
}

/// Writes an operand of a step: input i as 2 i, result i as 2 i + 1.
template <class Operand>
void write_operand(Writer& out, const Operand& operand) {
  out.whole(2u * operand.index + (operand.from == Operand::Result));
}
template <class Operand>
Operand read_operand(Reader& in, size_t inputs, size_t results) {
  const std::uint64_t coded = in.whole();
  const bool is_result = coded & 1;
  const size_t count = is_result ? results : inputs;
  if (coded / 2 >= count) in.wrong(is_result ? "result " : "input ", coded / 2, " of ", count);
  return {is_result ? Operand::Result : Operand::Input, static_cast<std::uint16_t>(coded / 2)};
}

/// Reads which results are outputs; each may occur once.
std::vector<std::uint16_t> read_outputs(Reader& in, size_t results) {
  std::vector<bool> seen(results);
  std::vector<std::uint16_t> outputs(in.length(kMost, "outputs"));
  for (std::uint16_t& output : outputs) {
    output = read_index(in, results, "result");
    if (seen[output]) in.wrong("result ", output, " is an output twice");
    seen[output] = true;
  }
  return outputs;
}

void write_program(Writer& out, const op::Program& program) {
  write_field(out, program.shape);
  write_field(out, program.inputs);
  out.whole(program.steps.size());
  for (const op::ProgramStep& step : program.steps) {
    write_op(out, std::visit([](const auto& op) { return op::Op(op); }, step.op));
    for (int i = 0; i < op::arity(step.op); ++i) write_operand(out, step.in[static_cast<size_t>(i)]);
    write_field(out, step.dtype);
  }
  write_field(out, program.outputs);
  write_field(out, program.folds);
}

decltype(op::ProgramStep::op) read_elementwise(Reader& in) {
  return op::visit(read_op(in), [&]<class T>(const T& op) -> decltype(op::ProgramStep::op) {
    if constexpr (std::is_constructible_v<decltype(op::ProgramStep::op), T>) return op;
    else in.wrong("'", T::kName, "' is no step of a program");
  });
}

std::shared_ptr<const op::Program> read_program(Reader& in) {
  auto program = std::make_shared<op::Program>();
  read_field(in, program->shape);
  read_field(in, program->inputs);
  if (program->inputs.size() > kMost) in.wrong("more than ", kMost, " inputs");
  // Operands as infer sees them: each has the shape of the program.
  std::vector<Desc> inputs, results;
  for (const DType dtype : program->inputs) inputs.push_back({program->shape, dtype});
  for (size_t count = in.length(kMost, "steps"); count > 0; --count) {
    op::ProgramStep step{read_elementwise(in), {}, DType::F32};
    Values operands;
    for (int i = 0; i < op::arity(step.op); ++i) {
      const auto operand = read_operand<op::ProgramOperand>(in, inputs.size(), results.size());
      step.in[static_cast<size_t>(i)] = operand;
      operands.push_back(
          description_only((operand.from == op::ProgramOperand::Input ? inputs : results)[operand.index], {}));
    }
    read_field(in, step.dtype);
    const Desc expected{program->shape, step.dtype};
    const Descs made = std::visit([&](const auto& op) { return op.infer(operands); }, step.op);
    if (!(made[0] == expected)) in.wrong("a step makes ", made[0].dtype, ' ', made[0].shape, ", not ", expected.dtype);
    results.push_back(expected);
    program->steps.push_back(step);
  }
  const std::vector<std::uint16_t> outputs = read_outputs(in, results.size());
  program->outputs.assign(outputs.begin(), outputs.end());
  read_field(in, program->folds);
  for (const op::Program::Fold& fold : program->folds) {
    if (fold.step >= results.size()) in.wrong("step ", fold.step, " of ", results.size());
    for (int i = 0; i < fold.dims.size(); ++i)
      if (fold.dims[i] < (i ? fold.dims[i - 1] + 1 : 0) || fold.dims[i] >= program->shape.size())
        in.wrong("dimension ", fold.dims[i], " folded of ", program->shape.size());
  }
  if (program->outputs.empty() && program->folds.empty()) in.wrong("a program without results");
  return program;
}

void write_sequence(Writer& out, const op::Sequence& sequence) {
  out.whole(sequence.results.size());
  for (const Desc& result : sequence.results) write_desc(out, result);
  out.whole(sequence.steps.size());
  for (const op::SequenceStep& step : sequence.steps) {
    write_op(out, step.op);
    out.whole(step.in.size());
    for (const op::SequenceOperand& operand : step.in) write_operand(out, operand);
    out.whole(step.results);
  }
  write_field(out, sequence.outputs);
}

void read_sequence(Reader& in, op::Sequence& sequence) {
  for (size_t count = in.length(kMost, "results"); count > 0; --count) sequence.results.push_back(read_desc(in));
  size_t made = 0;
  for (size_t count = in.length(kMost, "steps"); count > 0; --count) {
    op::SequenceStep step{read_op(in), {}, 0};
    for (size_t operands = in.length(kMost, "operands"); operands > 0; --operands)
      step.in.push_back(read_operand<op::SequenceOperand>(in, kMost, made));
    step.results = read_index(in, sequence.results.size() - made + 1, "result");
    made += step.results;
    sequence.steps.push_back(std::move(step));
  }
  if (made == 0) in.wrong("a sequence without results");
  if (made != sequence.results.size()) in.wrong(made, " of ", sequence.results.size(), " results are made");
  sequence.outputs = read_outputs(in, made);
}

}  // namespace

void write_planned(Writer& out, const op::Fused& op) {
  write_program(out, *op.program);
  write_field(out, op.streams);
}

void read_planned(Reader& in, op::Fused& op) {
  op.program = read_program(in);
  read_field(in, op.streams);
}

void write_planned(Writer& out, const op::Epilogue& op) {
  std::visit([&](const auto& product) { write_op(out, product); }, op.product);
  write_program(out, *op.program);
  write_desc(out, op.result);
  out.whole(op.operands);
  out.whole(op.input);
}

void read_planned(Reader& in, op::Epilogue& op) {
  op::visit(read_op(in), [&]<class T>(const T& product) {
    if constexpr (std::is_constructible_v<decltype(op.product), T>) op.product = product;
    else in.wrong("'", T::kName, "' is no product");
  });
  op.program = read_program(in);
  op.result = read_desc(in);
  op.operands = read_index(in, 4, "operand");
  op.input = read_index(in, op.program->inputs.size(), "input");
}

void write_planned(Writer& out, const op::RowBlocked& op) {
  write_field(out, op.blocks->axis);
  write_field(out, op.blocks->rows);
  write_field(out, op.blocks->block);
  write_sequence(out, op.blocks->sequence);  // the steps on blocks are derived from it
}

void read_planned(Reader& in, op::RowBlocked& op) {
  const auto blocks = std::make_shared<op::RowBlocks>();
  read_field(in, blocks->axis);
  read_field(in, blocks->rows);
  read_field(in, blocks->block);
  read_sequence(in, blocks->sequence);
  const op::Sequence& sequence = blocks->sequence;
  const int axis = blocks->axis;
  const auto has_rows = [&](const Desc& desc) {
    const Shape& shape = desc.shape;
    return axis >= 0 && axis < shape.size() && shape[axis] == blocks->rows &&
           numel(Shape(shape.begin(), shape.begin() + axis)) == 1 && shape.size() == sequence.results[0].shape.size();
  };
  if (!std::ranges::all_of(sequence.results, has_rows) || blocks->block < 1 || blocks->block > blocks->rows)
    in.wrong("results that blocks of ", blocks->block, " of ", blocks->rows, " rows along dimension ", axis,
             " do not give");
  for (const op::SequenceStep& step : sequence.steps)
    if (const auto* fused = std::get_if<op::Fused>(&step.op.is); fused && axis >= fused->program->shape.size())
      in.wrong("a step of shape ", fused->program->shape, " has no rows along dimension ", axis);
  blocks->derive_steps();
  op.blocks = blocks;
}

void write_planned(Writer& out, const op::RowFused& op) {
  write_field(out, op.rows);
  write_sequence(out, *op.sequence);
}

// Which elements form a row depends on the operands (wire/call.hpp).
void read_planned(Reader& in, op::RowFused& op) {
  read_field(in, op.rows);
  const auto sequence = std::make_shared<op::Sequence>();
  read_sequence(in, *sequence);
  if (op.rows < 1) in.wrong(op.rows, " rows");
  op.sequence = sequence;
}

void write_planned(Writer& out, const op::Batched& op) {
  out.whole(op.parts->all.size());
  for (const op::BatchedOp& part : op.parts->all) {
    write_op(out, part.op);
    out.whole(part.operands.count);
    out.whole(part.results.count);
  }
}

void read_planned(Reader& in, op::Batched& op) {
  auto parts = std::make_shared<op::BatchedOps>();
  std::uint32_t operands = 0, results = 0;
  for (size_t count = in.length(kMost, "parts"); count > 0; --count) {
    op::Op op = read_op(in);
    const std::uint32_t takes = read_index(in, kMost, "operand"), gives = read_index(in, kMost, "result");
    parts->all.push_back({std::move(op), {operands, takes}, {results, gives}});
    operands += takes;
    results += gives;
  }
  if (parts->all.empty()) in.wrong("parts of nothing");
  op.parts = std::move(parts);
}

}  // namespace kiln::wire
