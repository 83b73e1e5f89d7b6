#include "kiln/wire/call.hpp"

#include <algorithm>

#include "kiln/ops/planned/rows.hpp"
#include "kiln/ops/planned/sequence.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln::wire {
namespace {

using std::size_t;

std::vector<Desc> results_of(const op::Fused& fused, Inputs in) {
  const op::Program& program = *fused.program;
  require<ArgumentError>(in.size() == program.inputs.size(), "fused: takes ", program.inputs.size(), " operands, got ",
                         in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    require<ArgumentError>(static_cast<bool>(in[i]), "fused: operand ", i, " is missing");
    if (in[i].is_scalar()) continue;
    require<DTypeError>(in[i].dtype() == program.inputs[i], "fused: operand ", i, " is ", in[i], ", not ",
                        program.inputs[i]);
    require<ShapeError>(broadcast("fused", in[i].shape(), program.shape) == program.shape, "fused: operand ", i, " is ",
                        in[i], ", the results have shape ", program.shape);
  }
  std::vector<Desc> results;
  for (const std::uint16_t output : program.outputs) results.push_back({program.shape, program.steps[output].dtype});
  for (const op::Program::Fold& fold : program.folds) {
    const Value whole = description_only({program.shape, program.steps[fold.step].dtype}, {});
    results.push_back(op::Reduce{fold.fn, fold.dims}.infer({&whole, 1})[0]);
  }
  return results;
}

std::vector<Desc> results_of(const op::Epilogue& op, Inputs in) {
  const size_t others = op.program->inputs.size() - 1;
  require<ArgumentError>(in.size() == op.operands + others, "epilogue: takes ", op.operands + others, " operands, got ",
                         in.size());
  const Descs made = std::visit([&](const auto& product) { return product.infer(in.first(op.operands)); }, op.product);
  require<ShapeError>(made[0] == op.result && numel(op.result.shape) == numel(op.program->shape),
                      "epilogue: the product is ", made[0].dtype, ' ', made[0].shape, ", not ", op.result.dtype, ' ',
                      op.result.shape, " and ", op.program->shape);
  const SpareValues inputs = op.inputs(in, description_only({op.program->shape, op.result.dtype}, {}));
  return results_of(op::Fused{op.program}, inputs);
}

/// Checks the steps of a sequence on these operands. Step i is the operation `op_of(i)`, whose results must be what
/// `expected(desc)` gives for those that the sequence declares. `check` is called for each step with its operands.
template <class OpOf, class Expected, class Check>
void check_steps(std::string_view name, const op::Sequence& sequence, Inputs in, OpOf&& op_of, Expected&& expected,
                 Check&& check) {
  Values made;
  for (size_t s = 0; s < sequence.steps.size(); ++s) {
    const op::SequenceStep& step = sequence.steps[s];
    Values own;
    for (const op::SequenceOperand from : step.in) {
      const bool is_result = from.from == op::SequenceOperand::Result;
      require<ArgumentError>(is_result || from.index < in.size(), name, ": operand ", from.index, " of ", in.size());
      own.push_back(is_result ? made[from.index] : in[from.index]);
    }
    std::vector<Desc> results;
    for (size_t i = made.size(); i < made.size() + step.results; ++i) results.push_back(expected(sequence.results[i]));
    require<ShapeError>(!results.empty() && wire::results_of(op_of(s), own) == results, name, ": ",
                        op::display_name(op_of(s)), " does not give the declared results");
    check(step, own, results[0]);
    for (const Desc& desc : results) made.push_back(description_only(desc, {}));
  }
}

std::vector<Desc> outputs_of(const op::Sequence& sequence) {
  std::vector<Desc> results;
  for (const std::uint16_t output : sequence.outputs) results.push_back(sequence.results[output]);
  return results;
}

/// Returns the rows of an operand that belong to a block.
Value rows_of(const Value& value, const op::RowBlocks& blocks, std::int64_t rows) {
  if (!value.node()) return value;
  Desc desc = value.node()->desc;
  const int dim = blocks.axis - (blocks.sequence.results[0].shape.size() - desc.shape.size());
  if (dim < 0 || dim >= desc.shape.size() || desc.shape[dim] != blocks.rows) return value;
  desc.shape[dim] = rows;
  return description_only(desc, {});
}

// Each step is checked on all rows, on a block and on the remaining rows, so that every op that runs fits its operands.
std::vector<Desc> results_of(const op::RowBlocked& op, Inputs in) {
  const op::RowBlocks& blocks = *op.blocks;
  const auto check_rows = [&](std::int64_t rows, auto&& op_of) {
    Values operands;
    for (const Value& value : in) operands.push_back(rows_of(value, blocks, rows));
    const auto expected = [&](Desc desc) {
      desc.shape[blocks.axis] = rows;
      return desc;
    };
    check_steps(op.kName, blocks.sequence, operands, op_of, expected,
                [&](const op::SequenceStep& step, const Values&, const Desc&) {
                  require<ShapeError>(
                      op::visit(step.op, [&](const auto& each) { return is_row_wise(each, blocks.axis); }), op.kName,
                      ": ", op::display_name(step.op), " does not take ", blocks.rows, " rows one by one");
                });
  };
  check_rows(blocks.rows, [&](size_t i) -> const op::Op& { return blocks.sequence.steps[i].op; });
  check_rows(blocks.block, [&](size_t i) -> const op::Op& { return blocks.steps[i].block; });
  if (const std::int64_t rest = blocks.rows % blocks.block)
    check_rows(rest, [&](size_t i) -> const op::Op& { return blocks.steps[i].rest; });
  return outputs_of(blocks.sequence);
}

std::vector<Desc> results_of(const op::RowFused& op, Inputs in) {
  const op::RowForm form = op::form_of(op, in);
  check_steps(
      op.kName, *op.sequence, in, [&](size_t i) -> const op::Op& { return op.sequence->steps[i].op; },
      [](const Desc& desc) { return desc; },
      [&](const op::SequenceStep& step, const Values& own, const Desc& result) {
        std::vector<op::RowOperand> operands;
        for (size_t i = 0; i < own.size(); ++i)
          operands.push_back(
              {own[i].node() ? &own[i].node()->desc : nullptr, step.in[i].from == op::SequenceOperand::Result});
        require<ShapeError>(op::processes_rows(step.op, operands, result, form), op.kName, ": ",
                            op::display_name(step.op), " does not take ", op.rows, " rows one by one");
      });
  require<ShapeError>(form.length > 1, op.kName, ": ", op.rows, " rows of no more than an element each");
  return outputs_of(*op.sequence);
}

std::vector<Desc> results_of(const op::BatchedOps& parts, Inputs in) {
  std::vector<Desc> results;
  for (const op::BatchedOp& part : parts.all) {
    require<ArgumentError>(part.operands.first + part.operands.count <= in.size(), "horizontal: takes more than ",
                           in.size(), " operands");
    const std::vector<Desc> own = wire::results_of(part.op, in.subspan(part.operands.first, part.operands.count));
    require<ArgumentError>(own.size() == part.results.count, "horizontal: a part has ", own.size(), " results, not ",
                           part.results.count);
    results.insert(results.end(), own.begin(), own.end());
  }
  return results;
}

}  // namespace

std::vector<Desc> results_of(const op::Op& op, Inputs in) {
  return op::visit(op, [&]<class T>(const T& o) -> std::vector<Desc> {
    if constexpr (std::is_same_v<T, op::Batched>) {
      return results_of(*o.parts, in);
    } else if constexpr (op::Planned<T>) {
      return results_of(o, in);
    } else {
      const Descs made = o.infer(in);
      return {made.begin(), made.end()};
    }
  });
}

void write_operand(Writer& out, const CallOperand& operand) {
  out.whole(static_cast<std::uint64_t>(operand.id - CallOperand::kNothing));
  if (operand.id == CallOperand::kNumber) write_field(out, operand.number);
}

CallOperand read_operand(Reader& in) {
  CallOperand operand;
  const std::uint64_t coded = in.whole();
  if (coded > std::uint64_t{1} << 62) in.wrong("value ", coded, " is over 2^62");
  operand.id = static_cast<std::int64_t>(coded) + CallOperand::kNothing;
  if (operand.id == CallOperand::kNumber) read_field(in, operand.number);
  return operand;
}

void write_call(Writer& out, const op::Op& op, std::span<const CallOperand> in, std::span<const Desc> results) {
  write_op(out, op);
  out.whole(in.size());
  for (const CallOperand& operand : in) write_operand(out, operand);
  out.whole(results.size());
  for (const Desc& result : results) write_desc(out, result);
}

CallOf read_call(Reader& in, FunctionRef<const Desc*(std::int64_t)> known, const Device& device) {
  CallOf call{read_op(in), {}, {}};
  Values operands;
  for (size_t count = in.length(in.left(), "operands"); count > 0; --count) {
    const CallOperand& operand = call.in.emplace_back(read_operand(in));
    if (operand.id == CallOperand::kNothing) {
      operands.emplace_back();
    } else if (operand.id == CallOperand::kNumber) {
      operands.emplace_back(operand.number);
    } else {
      const Desc* const desc = known(operand.id);
      if (!desc) in.wrong(op::display_name(call.op), ": there is no value ", operand.id);
      operands.push_back(description_only(*desc, device));
    }
  }
  for (size_t count = in.length(in.left(), "results"); count > 0; --count) call.out.push_back(read_desc(in));
  if (results_of(call.op, operands) != call.out)
    in.wrong(op::display_name(call.op),
             " does not give the written results for its operands: another version wrote it, or it is "
             "damaged");
  return call;
}

}  // namespace kiln::wire
