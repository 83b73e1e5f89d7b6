#include "kiln/fusion/passes/passes.hpp"

namespace kiln::fusion {

void unwrap_single_steps(Plan& plan, const Segment&, const FusionTraits&) {
  for (PlanStep& step : plan.steps) {
    const auto* fused = std::get_if<op::Fused>(&step.op.is);
    if (!fused || fused->program->steps.size() > 1 || !fused->program->folds.empty()) continue;
    const op::ProgramStep only = fused->program->steps[0];
    SpareVector<Reference> in;
    for (int i = 0; i < op::arity(only.op); ++i) in.push_back(step.in[only.in[static_cast<std::size_t>(i)].index]);
    step.op = std::visit([](const auto& op) { return op::Op(op); }, only.op);
    step.in = std::move(in);
  }
}

}  // namespace kiln::fusion
