#include "kiln/fusion/passes/sequence.hpp"

#include <algorithm>

namespace kiln::fusion {

void SequenceBuilder::add(const PlanStep& step, FunctionRef<bool(std::uint32_t result)> is_read) {
  using Operand = op::SequenceOperand;
  op::SequenceStep inner{step.op, {}, static_cast<std::uint16_t>(step.out.size())};
  for (const Reference operand : step.in) {
    const auto known = operand.is_value() ? made_.find(operand.index()) : made_.end();
    if (known != made_.end()) {
      inner.in.push_back({Operand::Result, known->second});
      continue;
    }
    const auto input = std::ranges::find(in_, operand);
    inner.in.push_back({Operand::Input, static_cast<std::uint16_t>(input - in_.begin())});
    if (input == in_.end()) in_.push_back(operand);
  }
  for (const std::uint32_t result : step.out) {
    const auto index = static_cast<std::uint16_t>(sequence_.results.size());
    made_[result] = index;
    sequence_.results.push_back(segment_.values()[result]->desc);
    if (!segment_.visible(result) && !is_read(result)) continue;
    sequence_.outputs.push_back(index);
    out_.push_back(result);
  }
  entry_ = std::max(entry_, step.last_entry);
  sequence_.steps.push_back(std::move(inner));
}

PlanStep SequenceBuilder::finish(op::Op op) && { return {std::move(op), entry_, std::move(in_), std::move(out_), {}}; }

}  // namespace kiln::fusion
