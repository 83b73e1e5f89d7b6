// op::Blocked on the processor: each thread takes a block of rows through all operations. What lies between them is as
// large as a block, and its memory is taken again for the next.
#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::cpu {
namespace {

using std::int64_t;

/// Rows [begin, end) of a tensor whose last dimensions are those of `rank`; all of one that broadcasts along them.
Value rows_of(const Value& value, const op::Sequence& sequence, int rank, int64_t begin, int64_t end) {
  if (!value.node()) return value;
  const Node& node = *value.node();
  const int dim = sequence.axis - (rank - value.rank());
  if (dim < 0 || node.desc.shape[dim] != sequence.rows) return value;
  Desc desc = node.desc;
  desc.shape[dim] = end - begin;
  Value rows(make_ref<Node>(desc, node.device));
  alias(rows, value, node.strides, node.offset + begin * node.strides[dim]);
  return rows;
}

/// The order in which an operand lies, if its rows lie apart in it.
Dims order_of(const Value& out, const op::Sequence& sequence, Inputs in) {
  const Dims order = follow_order(out.shape(), in);
  const std::int64_t row = order[sequence.axis];
  for (int i = sequence.axis + 1; i < order.size(); ++i)
    if (order[i] > row && out.shape()[i] != 1) return contiguous_strides(out.shape());
  return order;
}

/// Results lie where operands do that are not read afterwards: neither other calls nor the step that makes the result.
void allocate_all(const op::Sequence& sequence, Call call) {
  SpareVector<std::size_t> last_reader(call.in.size()), maker;
  for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
    maker.insert(maker.end(), sequence.steps[i].results, i);
    for (const op::Sequence::Operand from : sequence.steps[i].in)
      if (from.from == op::Sequence::Operand::Input) last_reader[from.index] = i;
  }
  AllOrNone memory(call.out);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const Dims order = order_of(call.out[i], sequence, call.in);
    for (std::size_t k = 0; k < call.in.size(); ++k)
      if (last_reader[k] < maker[sequence.outputs[i]] && take_memory(call.out[i], order, call, k)) break;
    allocate(call.out[i], order);
  }
  memory.succeed();
}

}  // namespace

void Cpu::run_blocked(const op::Sequence& sequence, Call call) {
  allocate_all(sequence, call);
  std::vector<int> output_of(sequence.results.size(), -1);
  for (std::size_t i = 0; i < sequence.outputs.size(); ++i) output_of[sequence.outputs[i]] = static_cast<int>(i);
  const int rank = sequence.results[0].shape.size();

  parallel_pieces(sequence.rows, sequence.block, [&](int64_t begin, int64_t end) {
    Values in, results;
    for (const Value& value : call.in) in.push_back(rows_of(value, sequence, rank, begin, end));
    for (const op::Sequence::Step& step : sequence.steps) {
      Values operands;
      for (const op::Sequence::Operand from : step.in)
        operands.push_back(from.from == op::Sequence::Operand::Input ? in[from.index] : results[from.index]);
      const std::size_t first = results.size();
      for (std::size_t i = first; i < first + step.results; ++i) {
        if (output_of[i] >= 0) {
          const Value& whole = call.out[static_cast<std::size_t>(output_of[i])];
          results.push_back(rows_of(whole, sequence, rank, begin, end));
        } else {
          Desc desc = sequence.results[i];
          desc.shape[sequence.axis] = end - begin;
          results.emplace_back(make_ref<Node>(desc, call.out[0].device()));
        }
      }
      run_kernel(end - begin == sequence.block ? step.block : step.rest, {operands, std::span(results).subspan(first)});
      // A kernel may have had other memory in mind.
      for (std::size_t i = first; i < results.size(); ++i) {
        if (output_of[i] < 0) continue;
        const Value& whole = call.out[static_cast<std::size_t>(output_of[i])];
        if (results[i].node()->storage != whole.node()->storage)
          copy(read(results[i]), read(rows_of(whole, sequence, rank, begin, end)));
      }
    }
  });
}

}  // namespace kiln::cpu
