// Parts of a step: the same with fewer results, for when not all of them can be had.
#pragma once
#include "kiln/fusion/plan.hpp"

namespace kiln::fusion {

/// Does the step make several results, which do not need all that it does?
bool has_parts(const Plan::Step& step);
/// The step that makes result `index` alone, out of the operands that lead to it. It gives the same bits.
Plan::Step part_of(const Plan::Step& step, std::size_t index);

}  // namespace kiln::fusion
