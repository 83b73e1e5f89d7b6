// Programs that are no more than a sum of squares, or of what is no NaN.
#pragma once
#include <optional>

#include "kiln/backend/cpu/simd/reduce/folding.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::cpu::simd {

/// Sums of squares, and of what is no NaN, have a kernel of their own, whose rows cost little: of which input.
struct MappedSum {
  explicit MappedSum(const op::Program& program) {
    using Source = op::Program::Operand;
    const SpareVector<op::Program::Step>& steps = program.steps;
    const bool one_sum = program.outputs.empty() && program.folds.size() == 1 && accumulates(program.folds[0].fn) &&
                         program.folds[0].step + std::size_t{1} == steps.size() && steps.size() <= 2;
    if (!one_sum || steps[0].in[0].from != Source::Input) return;
    const auto* unary = std::get_if<op::Unary>(&steps[0].op);
    if (!unary || program.inputs[steps[0].in[0].index] != DType::F32) return;
    if (steps.size() == 1 && unary->fn == op::UnaryFn::Square) fold = Fold::Squares;
    if (steps.size() == 2 && unary->fn == op::UnaryFn::IsNan && std::holds_alternative<op::Where>(steps[1].op)) {
      const auto& [condition, number, x] = steps[1].in;
      if (condition.from != Source::Result || number.from != Source::Input || x.from != Source::Input) return;
      if (x.index != steps[0].in[0].index || program.inputs[number.index] != DType::F32) return;
      fold = Fold::Numbers;
      replacement = number.index;
    }
    input = steps[0].in[0].index;
  }
  static bool accumulates(op::ReduceFn fn) { return fn == op::ReduceFn::Sum || fn == op::ReduceFn::Mean; }

  /// False where it is none.
  bool run(Inputs in, const Shape& shape, Folding& folding, std::int64_t grain) const {
    if (!fold ||
        (*fold == Fold::Numbers && !(in[replacement].is_scalar() && in[replacement].scalar().to<double>() == 0)))
      return false;
    const Array x = read(in[input]);
    if (x.shape != shape || !x.contiguous()) return false;
    if (*fold == Fold::Squares) folding.run_mapped<Fold::Squares>(grain, x.as<float>());
    else folding.run_mapped<Fold::Numbers>(grain, x.as<float>());
    return true;
  }

  std::optional<Fold> fold;
  std::size_t input = 0, replacement = 0;
};

}  // namespace kiln::cpu::simd
