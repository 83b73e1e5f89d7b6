// The description of a plan that KILN_LOG=fusion prints.
#include "kiln/fusion/plan.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::fusion {
namespace {

std::string described(const op::Program& program) {
  std::string line;
  for (const op::ProgramStep& step : program.steps)
    line += text(line.empty() ? "" : " ", std::visit([](const auto& o) { return op::function_name(o); }, step.op));
  for (const op::Program::Fold& fold : program.folds) line += text(" ", op::name(fold.fn));
  return line;
}

std::string described(const op::Op& op) {
  std::string line;
  if (const auto* fused = std::get_if<op::Fused>(&op.is)) {
    line = described(*fused->program);
  } else if (const auto* epilogue = std::get_if<op::Epilogue>(&op.is)) {
    line = text(std::visit([](const auto& product) { return text(op::Op(product)); }, epilogue->product), ", then ",
                described(*epilogue->program));
  } else if (const op::Sequence* const sequence = op::sequence_of(op)) {
    if (const auto* blocked = std::get_if<op::RowBlocked>(&op.is)) line = text("by ", blocked->blocks->block, " rows:");
    else line = "row by row:";
    for (const op::SequenceStep& step : sequence->steps)
      line += text(&step == sequence->steps.data() ? " " : "; ", described(step.op));
  } else if (const auto* horizontal = std::get_if<op::Batched>(&op.is)) {
    line = "side by side:";
    for (const op::BatchedOp& part : horizontal->parts->all)
      line += text(&part == horizontal->parts->all.data() ? " " : "; ", described(part.op));
  } else {
    line = text(op);
  }
  return line;
}

}  // namespace

std::string describe(const Plan& plan, const Segment& segment) {
  std::string lines;
  for (const PlanStep& step : plan.steps) {
    lines += text("  ", described(step.op));
    for (const std::uint32_t out : step.out) {
      const Desc& desc = segment.values()[out]->desc;
      lines += text(" -> ", desc.dtype, " ", desc.shape);
    }
    lines += "\n";
  }
  return lines;
}

}  // namespace kiln::fusion
