#include "kiln/fusion/passes/passes.hpp"

namespace kiln::fusion {

std::vector<std::vector<std::size_t>> readers_of(const Plan& plan, const Segment& segment) {
  std::vector<std::vector<std::size_t>> readers(segment.values().size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    for (const Reference operand : plan.steps[i].in)
      if (operand.is_value()) readers[operand.index()].push_back(i);
  return readers;
}

}  // namespace kiln::fusion
