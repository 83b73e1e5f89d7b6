#include "kiln/fusion/passes/sequence.hpp"

#include <algorithm>

namespace kiln::fusion {

void SequenceBuilder::add(const Plan::Step& step, op::Sequence::Step inner,
                          FunctionRef<bool(std::uint32_t result)> is_read) {
  using Operand = op::Sequence::Operand;
  for (const Reference operand : step.in) {
    const auto known = operand.is_value() ? made_.find(operand.index()) : made_.end();
    if (known != made_.end()) {
      inner.in.push_back({Operand::Result, known->second});
      continue;
    }
    const auto input = std::ranges::find(group_.in, operand);
    inner.in.push_back({Operand::Input, static_cast<std::uint16_t>(input - group_.in.begin())});
    if (input == group_.in.end()) group_.in.push_back(operand);
  }
  for (const std::uint32_t result : step.out) {
    const auto index = static_cast<std::uint16_t>(sequence_->results.size());
    made_[result] = index;
    sequence_->results.push_back(segment_.values()[result]->desc);
    if (!segment_.visible(result) && !is_read(result)) continue;
    sequence_->outputs.push_back(index);
    group_.out.push_back(result);
  }
  group_.entry = std::max(group_.entry, step.entry);
  sequence_->steps.push_back(std::move(inner));
}

}  // namespace kiln::fusion
