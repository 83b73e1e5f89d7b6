// op::RowBlocked on the processor: each thread takes a block of rows through all operations. Intermediate tensors are
// as large as a block, and their memory is used again for the next block.
#include <algorithm>
#include <optional>

#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::cpu {
namespace {

using std::int64_t;

int rank_of(const op::RowBlocks& blocks) { return blocks.sequence.results[0].shape.size(); }

/// Returns the dimension that counts the rows; nothing for an operand that broadcasts along them.
std::optional<int> row_dimension(const Value& value, const op::RowBlocks& blocks) {
  if (!value.node()) return {};
  const int dim = blocks.axis - (rank_of(blocks) - value.rank());
  if (dim < 0 || value.shape()[dim] != blocks.rows) return {};
  return dim;
}

/// Returns rows [begin, end) of a tensor; all of one that broadcasts along them.
Value rows_of(const Value& value, const op::RowBlocks& blocks, int64_t begin, int64_t end) {
  const std::optional<int> counts = row_dimension(value, blocks);
  if (!counts) return value;
  const Node& node = *value.node();
  const int dim = *counts;
  Desc desc = node.desc;
  desc.shape[dim] = end - begin;
  Value rows(make_ref<Node>(desc, node.device));
  alias(rows, value, node.strides, node.offset + begin * node.strides[dim]);
  return rows;
}

/// Allocates the results. Each takes the memory of an operand that nothing reads afterwards, neither other calls nor
/// the step that computes the result.
void allocate_all(const op::Sequence& sequence, Call call) {
  SpareVector<std::size_t> last_reader(call.in.size()), maker;
  for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
    maker.insert(maker.end(), sequence.steps[i].results, i);
    for (const op::SequenceOperand from : sequence.steps[i].in)
      if (from.from == op::SequenceOperand::Input) last_reader[from.index] = i;
  }
  AllocateAllOrNone memory(call.out);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const Dims order = contiguous_strides(call.out[i].shape());
    for (std::size_t k = 0; k < call.in.size(); ++k)
      if (last_reader[k] < maker[sequence.outputs[i]] && reuse_memory(call.out[i], order, call, k)) break;
    allocate(call.out[i], order);
  }
  memory.succeed();
}

}  // namespace

// Operations store results in the order of their operands, and sum in the order of memory. Blocks give row-major
// results, so operands must be row-major too: then the results are those of every operation on all rows.
bool Cpu::goes_in_blocks(const op::RowBlocks& blocks, Inputs in) {
  return std::ranges::all_of(in, [&](const Value& value) {
    return !row_dimension(value, blocks) ||
           strided::is_contiguous(value.shape(), follow_order(value.shape(), {&value, 1}));
  });
}

void Cpu::run_row_blocked(const op::RowBlocks& blocks, Call call) {
  const op::Sequence& sequence = blocks.sequence;
  allocate_all(sequence, call);
  std::vector<int> output_of(sequence.results.size(), -1);
  for (std::size_t i = 0; i < sequence.outputs.size(); ++i) output_of[sequence.outputs[i]] = static_cast<int>(i);

  parallel_chunks(blocks.rows, blocks.block, [&](int64_t begin, int64_t end) {
    Values in, results;
    for (const Value& value : call.in) in.push_back(rows_of(value, blocks, begin, end));
    for (std::size_t s = 0; s < sequence.steps.size(); ++s) {
      const op::SequenceStep& step = sequence.steps[s];
      Values operands;
      for (const op::SequenceOperand from : step.in)
        operands.push_back(from.from == op::SequenceOperand::Input ? in[from.index] : results[from.index]);
      const std::size_t first = results.size();
      for (std::size_t i = first; i < first + step.results; ++i) {
        if (output_of[i] >= 0) {
          const Value& whole = call.out[static_cast<std::size_t>(output_of[i])];
          results.push_back(rows_of(whole, blocks, begin, end));
        } else {
          Desc desc = sequence.results[i];
          desc.shape[blocks.axis] = end - begin;
          results.emplace_back(make_ref<Node>(desc, call.out[0].device()));
        }
      }
      run_kernel(end - begin == blocks.block ? blocks.steps[s].block : blocks.steps[s].rest,
                 {operands, std::span(results).subspan(first)});
      // The kernel may have allocated other memory.
      for (std::size_t i = first; i < results.size(); ++i) {
        if (output_of[i] < 0) continue;
        const Value& whole = call.out[static_cast<std::size_t>(output_of[i])];
        if (results[i].node()->storage != whole.node()->storage)
          copy(read(results[i]), read(rows_of(whole, blocks, begin, end)));
      }
    }
  });
}

}  // namespace kiln::cpu
