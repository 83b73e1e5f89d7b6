// The passes over a plan. Each joins steps into one step of a planned op, where the device's traits have the member for
// it. When they run, PlanStep::release is not filled yet.
#pragma once
#include "kiln/fusion/plan.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::fusion {

using Pass = void(Plan& plan, const Segment& segment, const FusionTraits& traits);

/// epilogues.cpp: a large product that only an elementwise step reads becomes one op::Epilogue with it.
Pass join_epilogues;
/// single_steps.cpp: a program of one operation becomes that operation, for which devices have faster kernels.
Pass unwrap_single_steps;
/// streaming.cpp: marks the fused steps whose results are too large to stay in the caches until they are read, such as
/// an optimizer's update of a large model.
Pass mark_streaming;
/// row_blocks.cpp: consecutive steps that process the same large tensors row by row become one op::RowBlocked.
Pass block_rows;
/// row_fusion.cpp: steps that fold the same rows, and those that process these rows before, between and after them,
/// become one op::RowFused.
Pass fuse_rows;
/// batching.cpp: small elementwise steps that are close together and independent of each other become one
/// op::Batched.
Pass batch_small_steps;

/// All passes, in the order in which they run.
inline constexpr Pass* kPasses[] = {join_epilogues, unwrap_single_steps, mark_streaming,
                                    block_rows,     fuse_rows,           batch_small_steps};

/// Returns the steps that read each value, in order; a step that reads a value twice is listed twice.
std::vector<std::vector<std::size_t>> readers_of(const Plan& plan, const Segment& segment);

}  // namespace kiln::fusion
