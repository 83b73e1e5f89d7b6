// A pass over a plan: a large product that only an elementwise step reads becomes one step with it, op::Epilogue.
#pragma once
#include "kiln/fusion/plan.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::fusion {

/// Releases are not known yet.
void join_epilogues(Plan& plan, const Segment& segment, const FusionTraits::Epilogues& traits);

}  // namespace kiln::fusion
