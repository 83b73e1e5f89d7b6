// Programs that are no more than a sum of squares, or of what is no NaN.
#pragma once
#include <optional>

#include "kiln/backend/cpu/simd/reduce/reduce.hpp"
#include "kiln/backend/strided/strided.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::cpu::simd {

/// Sums of squares, and of what is no NaN, are taken of an input where it lies.
struct MappedSum {
  explicit MappedSum(const op::Program& program) {
    using Source = op::ProgramOperand;
    const SpareVector<op::ProgramStep>& steps = program.steps;
    const bool one_sum = program.outputs.empty() && program.folds.size() == 1 && accumulates(program.folds[0].fn) &&
                         program.folds[0].step + std::size_t{1} == steps.size() && steps.size() <= 2;
    if (!one_sum || steps[0].in[0].from != Source::Input) return;
    const auto* unary = std::get_if<op::Unary>(&steps[0].op);
    input = steps[0].in[0].index;
    if (!unary || !is_float(program.inputs[input])) return;
    if (steps.size() == 1 && unary->fn == op::UnaryFn::Square) fold = Fold::Squares;
    if (steps.size() == 2 && unary->fn == op::UnaryFn::IsNan && std::holds_alternative<op::Where>(steps[1].op)) {
      const auto& [condition, number, x] = steps[1].in;
      if (condition.from != Source::Result || number.from != Source::Input || x.from != Source::Input) return;
      if (x.index != input || program.inputs[number.index] != program.inputs[input]) return;
      fold = Fold::Numbers;
      replacement = number.index;
    }
  }
  static bool accumulates(op::ReduceFn fn) { return fn == op::ReduceFn::Sum || fn == op::ReduceFn::Mean; }

  /// False where it is none, or where what it sums would lie otherwise.
  bool run(const op::Program& program, Call call) const {
    if (!fold || (*fold == Fold::Numbers &&
                  !(call.in[replacement].is_scalar() && call.in[replacement].scalar().to<double>() == 0)))
      return false;
    const Array x = read(call.in[input]);
    if (x.shape != program.shape || !strided::is_dense(x.shape, x.strides)) return false;
    reduce_mapped(*fold, {program.folds[0].fn, program.folds[0].dims}, x, call.out[0]);
    return true;
  }

  std::optional<Fold> fold;
  std::size_t input = 0, replacement = 0;
};

}  // namespace kiln::cpu::simd
