// Trees and functions of expressions.
#include "kiln/backend/gpu/kernel/arithmetic.hpp"
#include "kiln/backend/gpu/kernel/interpret/block.hpp"
#include "kiln/ops/expression/evaluate.hpp"

namespace kiln::gpu::interpreted {
namespace {

/// An operand of thread t: a number where its type is T, a word where it is uint32 or a truth.
template <class T>
expr::Cell<T> operand(Block& block, std::uint32_t cells, DType type, int t) {
  expr::Cell<T> cell;
  if (type == DType::Bool) cell.word = block.cells<bool>(cells)[t];
  if (type == DType::U32) cell.word = block.cells<std::uint32_t>(cells)[t];
  if (type == dtype_of<T>) cell.number = block.cells<T>(cells)[t];
  return cell;
}

template <class T>
void call(Block& block, const Step& step) {
  const Instruction& source = *step.source;
  std::vector<expr::Cell<T>> in(step.operands.size()), out(1);
  block.each([&](int t) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = operand<T>(block, step.operands[i], step.operand_types[i], t);
    const std::span<const expr::Cell<T>> operands(in);
    if (source.tree) out[0] = expr::evaluate<T>(*source.tree, operands);
    else out = expr::evaluate<T>(*source.function, operands);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<std::size_t>(t) + i * static_cast<std::size_t>(block.threads);
      const expr::Type type = source.tree ? source.tree->root().type : source.function->gives;
      if (type == expr::Type::Bool) block.cells<bool>(step.result)[at] = out[i].word != 0;
      else if (type == expr::Type::Word) block.cells<std::uint32_t>(step.result)[at] = out[i].word;
      else block.cells<T>(step.result)[at] = out[i].number;
    }
  });
}

}  // namespace

Run run_call(DType element) {
  return visit_type(element, [](auto like) -> Run {
    if constexpr (std::is_same_v<decltype(like), bool>) fail<ArgumentError>("kernel: expressions have no truths");
    else return &call<decltype(like)>;
  });
}

}  // namespace kiln::gpu::interpreted
