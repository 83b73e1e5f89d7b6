// Parts of a step: a step with fewer of its results, for when not all of them can be computed.
#pragma once
#include "kiln/fusion/plan.hpp"

namespace kiln::fusion {

/// Whether the step has several results, of which each may need only a part of its work.
bool is_divisible(const PlanStep& step);
/// Returns the step that computes result `index` alone, from the operands that lead to it. It gives the same bits.
PlanStep with_results(const PlanStep& step, std::size_t index);

}  // namespace kiln::fusion
