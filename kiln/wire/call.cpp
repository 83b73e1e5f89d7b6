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
    const Value whole = imagined({program.shape, program.steps[fold.step].dtype}, {});
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
  const SpareValues inputs = op.inputs(in, imagined({op.program->shape, op.result.dtype}, {}));
  return results_of(op::Fused{op.program}, inputs);
}

/// The rows of an operand that belong to a block.
Value rows_of(const Value& value, const op::Sequence& sequence, std::int64_t rows) {
  if (!value.node() || sequence.block == 0) return value;
  Desc desc = value.node()->desc;
  const int dim = sequence.axis - (sequence.results[0].shape.size() - desc.shape.size());
  if (dim < 0 || dim >= desc.shape.size() || desc.shape[dim] != sequence.rows) return value;
  desc.shape[dim] = rows;
  return imagined(desc, {});
}

/// Whether a step processes rows one by one, so that a block of rows gives the same results as all rows.
bool goes_through_rows(const op::Sequence& sequence, const op::Sequence::Step& step, const Values& operands,
                       const Desc& result, const op::RowForm& form) {
  if (sequence.block) return op::visit(step.whole, [&](const auto& op) { return goes_by_rows(op, sequence.axis); });
  std::vector<op::RowOperand> in;
  for (size_t i = 0; i < operands.size(); ++i)
    in.push_back(
        {operands[i].node() ? &operands[i].node()->desc : nullptr, step.in[i].from == op::Sequence::Operand::Result});
  return op::goes_through_rows(step.whole, in, result, form);
}

/// Checks each step on all rows, on a block, and on the remaining rows: each variant that can run must infer these
/// results.
void check_rows(const op::Sequence& sequence, Inputs in, std::int64_t rows, op::Op op::Sequence::Step::* which) {
  const op::RowForm form = op::form_of(sequence, in);
  Values operands, made;
  for (const Value& value : in) operands.push_back(rows_of(value, sequence, rows));
  for (const op::Sequence::Step& step : sequence.steps) {
    Values own;
    for (const op::Sequence::Operand from : step.in) {
      const bool is_result = from.from == op::Sequence::Operand::Result;
      require<ArgumentError>(is_result || from.index < operands.size(), "blocked: operand ", from.index, " of ",
                             operands.size());
      own.push_back((is_result ? made : operands)[from.index]);
    }
    std::vector<Desc> expected;
    for (size_t i = made.size(); i < made.size() + step.results; ++i) {
      expected.push_back(sequence.results[i]);
      if (sequence.block) expected.back().shape[sequence.axis] = rows;
    }
    require<ShapeError>(wire::results_of(step.*which, own) == expected, "blocked: ", op::title(step.*which), " on ",
                        rows, " of ", sequence.rows, " rows does not make what was said");
    require<ShapeError>(!expected.empty() && goes_through_rows(sequence, step, own, expected[0], form),
                        "blocked: ", op::title(step.whole), " does not take ", sequence.rows, " rows one by one");
    for (const Desc& desc : expected) made.push_back(imagined(desc, {}));
  }
}

std::vector<Desc> results_of(const op::Sequence& sequence, Inputs in) {
  check_rows(sequence, in, sequence.rows, &op::Sequence::Step::whole);
  if (sequence.block) {
    check_rows(sequence, in, sequence.block, &op::Sequence::Step::block);
    if (const std::int64_t rest = sequence.rows % sequence.block)
      check_rows(sequence, in, rest, &op::Sequence::Step::rest);
  } else {
    require<ShapeError>(op::form_of(sequence, in).length > 1, "blocked: ", sequence.rows,
                        " rows of no more than an element each");
  }
  std::vector<Desc> results;
  for (const std::uint16_t output : sequence.outputs) results.push_back(sequence.results[output]);
  return results;
}

std::vector<Desc> results_of(const op::Parts& parts, Inputs in) {
  std::vector<Desc> results;
  for (const op::Parts::Part& part : parts.all) {
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
    if constexpr (std::is_same_v<T, op::Blocked>) {
      return results_of(*o.sequence, in);
    } else if constexpr (std::is_same_v<T, op::Horizontal>) {
      return results_of(*o.parts, in);
    } else if constexpr (op::Planned<T>) {
      return results_of(o, in);
    } else {
      const Descs made = o.infer(in);
      return {made.begin(), made.end()};
    }
  });
}

void write_operand(Writer& out, const Operand& operand) {
  out.whole(static_cast<std::uint64_t>(operand.id - Operand::kNothing));
  if (operand.id == Operand::kNumber) write_field(out, operand.number);
}

Operand read_operand(Reader& in) {
  Operand operand;
  const std::uint64_t coded = in.whole();
  if (coded > std::uint64_t{1} << 62) in.wrong("value ", coded, " is over 2^62");
  operand.id = static_cast<std::int64_t>(coded) + Operand::kNothing;
  if (operand.id == Operand::kNumber) read_field(in, operand.number);
  return operand;
}

void write_call(Writer& out, const op::Op& op, std::span<const Operand> in, std::span<const Desc> results) {
  write_op(out, op);
  out.whole(in.size());
  for (const Operand& operand : in) write_operand(out, operand);
  out.whole(results.size());
  for (const Desc& result : results) write_desc(out, result);
}

CallOf read_call(Reader& in, FunctionRef<const Desc*(std::int64_t)> known, const Device& device) {
  CallOf call{read_op(in), {}, {}};
  Values operands;
  for (size_t count = in.length(in.left(), "operands"); count > 0; --count) {
    const Operand& operand = call.in.emplace_back(read_operand(in));
    if (operand.id == Operand::kNothing) {
      operands.emplace_back();
    } else if (operand.id == Operand::kNumber) {
      operands.emplace_back(operand.number);
    } else {
      const Desc* const desc = known(operand.id);
      if (!desc) in.wrong(op::title(call.op), ": there is no value ", operand.id);
      operands.push_back(imagined(*desc, device));
    }
  }
  for (size_t count = in.length(in.left(), "results"); count > 0; --count) call.out.push_back(read_desc(in));
  if (results_of(call.op, operands) != call.out)
    in.wrong(op::title(call.op),
             " does not make of its operands what was written: another version wrote it, or it is "
             "damaged");
  return call;
}

}  // namespace kiln::wire
