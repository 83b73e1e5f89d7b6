// A pass over a plan: small elementwise steps that are near each other and need nothing of each other become op::Horizontal.
#pragma once
#include "kiln/fusion/plan.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::fusion {

/// Releases are not known yet.
void fuse_horizontally(Plan& plan, const Segment& segment, const FusionTraits::Horizontal& traits);

}  // namespace kiln::fusion
