// Evaluates expression trees and library functions.
#include "kiln/backend/gpu/kernel/arithmetic.hpp"
#include "kiln/backend/gpu/kernel/interpret/block.hpp"
#include "kiln/ops/expression/evaluate.hpp"

namespace kiln::gpu::interpreted {
namespace {

/// A call, and how its operands and results are converted to columns: words are uint32 in kernels, but booleans are
/// not.
template <class T>
struct CallOf {
  expr::Evaluator<T> evaluator;
  std::vector<DType> operands;
  expr::Type gives;
  std::size_t results;
};

template <class T>
void call(Block& block, const Step& step) {
  const auto& of = *static_cast<const CallOf<T>*>(step.call);
  const auto threads = static_cast<std::size_t>(block.threads);
  std::vector<expr::Column<T>> in(of.operands.size()), out(of.results);
  std::vector<std::uint32_t> words;
  words.resize(threads * (in.size() + out.size()));
  std::uint32_t* free = words.data();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint32_t cells = step.operands[i];
    if (of.operands[i] == dtype_of<T>) in[i].numbers = block.cells<T>(cells);
    if (of.operands[i] == DType::U32) in[i].words = block.cells<std::uint32_t>(cells);
    if (of.operands[i] == DType::Bool) {
      in[i].words = free;
      free = std::copy_n(block.cells<bool>(cells), threads, free);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    switch (of.gives) {
      case expr::Type::Number: out[i].numbers = block.cells<T>(step.result) + i * threads; break;
      case expr::Type::Word: out[i].words = block.cells<std::uint32_t>(step.result) + i * threads; break;
      case expr::Type::Bool: out[i].words = free; break;
    }
  }
  of.evaluator.run({threads, block.full() ? nullptr : block.mask->on.data()}, in, out);
  if (of.gives == expr::Type::Bool) {
    bool* const result = block.cells<bool>(step.result);
    for_all(block.threads, [&](int t) { result[t] = free[t] != 0; });
  }
}

}  // namespace

std::shared_ptr<const void> make_call(const Instruction& instruction, std::vector<DType> operands) {
  return visit_type(instruction.element, [&](auto like) -> std::shared_ptr<const void> {
    using T = decltype(like);
    if constexpr (std::is_same_v<T, bool>) fail<ArgumentError>("kernel: expressions have no numbers that are truths");
    else if (instruction.tree)
      return std::make_shared<const CallOf<T>>(
          CallOf<T>{expr::Evaluator<T>(*instruction.tree), std::move(operands), instruction.tree->root().type, 1});
    else
      return std::make_shared<const CallOf<T>>(CallOf<T>{expr::Evaluator<T>(*instruction.function), std::move(operands),
                                                         instruction.function->gives, instruction.function->results});
  });
}

Run run_call(DType element) {
  return visit_type(element, [](auto like) -> Run {
    if constexpr (std::is_same_v<decltype(like), bool>) return nullptr;
    else return &call<decltype(like)>;
  });
}

}  // namespace kiln::gpu::interpreted
