// A pass over a plan: a pointwise convolution and the depthwise one that alone reads its result become one op::Blocked, of
// which a device may make the first piece by piece as the second wants it.
#pragma once
#include "kiln/fusion/plan.hpp"

namespace kiln::fusion {

/// Of results of so many elements or more. Releases are not known yet.
void chain_convs(Plan& plan, const Segment& segment, std::int64_t least);

}  // namespace kiln::fusion
