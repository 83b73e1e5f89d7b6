// A pass over a plan: steps that fold the same rows, and those that go through these before, between and after, become one
// op::Blocked that takes each row once.
#pragma once
#include "kiln/fusion/plan.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::fusion {

/// Releases are not known yet.
void join_rows(Plan& plan, const Segment& segment, const FusionTraits::Rows& traits);

}  // namespace kiln::fusion
