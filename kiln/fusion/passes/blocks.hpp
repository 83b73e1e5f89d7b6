// The last pass over a plan: steps that take the same large tensors row by row, one after the other, become op::Blocked.
#pragma once
#include "kiln/fusion/plan.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::fusion {

/// Releases are not known yet.
void group_into_blocks(Plan& plan, const Segment& segment, const FusionTraits::Blocks& traits);

}  // namespace kiln::fusion
