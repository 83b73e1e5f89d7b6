#include "kiln/ops/planned/fused.hpp"

#include <algorithm>

#include "kiln/ops/emit.hpp"

namespace kiln::op {

std::vector<Desc> Program::results() const {
  std::vector<Desc> descs;
  for (const std::uint16_t step : outputs) descs.push_back({shape, steps[step].dtype});
  for (const Fold& fold : folds) {
    descs.push_back({shape, steps[fold.step].dtype});
    for (const std::int64_t dim : fold.dims) descs.back().shape[static_cast<int>(dim)] = 1;
  }
  return descs;
}

std::optional<int> Program::Fold::kept(const Shape& shape) const {
  const int first = shape.size() - dims.size();
  if (!dims.empty() && dims[0] != first) return std::nullopt;
  return first;
}

Descs Fused::infer(Inputs) const { fail<ArgumentError>("fused: a plan's op is not for emit()"); }
void Fused::vjp(Backward&) const { fail<ArgumentError>("fused: a plan's op has no gradient"); }

Values Fused::expand(Inputs in) const {
  Values results;
  results.reserve(program->steps.size());
  for (const ProgramStep& step : program->steps) {
    std::array<Value, 3> operands;
    const int count = arity(step.op);
    for (int i = 0; i < count; ++i) {
      const ProgramOperand from = step.in[static_cast<std::size_t>(i)];
      operands[static_cast<std::size_t>(i)] = from.from == ProgramOperand::Input ? in[from.index] : results[from.index];
    }
    results.push_back(std::visit(
        [&](const auto& op) { return emit(op, Inputs(operands.data(), static_cast<std::size_t>(count))); }, step.op));
  }
  Values outputs;
  for (const std::uint16_t step : program->outputs) outputs.push_back(results[step]);
  for (const Program::Fold& fold : program->folds)
    outputs.push_back(emit(Reduce{fold.fn, fold.dims}, {results[fold.step]}));
  return outputs;
}

bool Fused::is_row_wise(int axis) const {
  return std::all_of(program->folds.begin(), program->folds.end(),
                     [&](const Program::Fold& fold) { return Reduce{fold.fn, fold.dims}.is_row_wise(axis); });
}

}  // namespace kiln::op
