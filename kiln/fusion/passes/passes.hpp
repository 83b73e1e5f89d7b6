// The passes over a plan, each of which joins steps into one of a planned op, where the device's traits have what it asks
// for. Releases are not known yet when they run.
#pragma once
#include "kiln/fusion/plan.hpp"
#include "kiln/ops/fusion_traits.hpp"

namespace kiln::fusion {

using Pass = void(Plan& plan, const Segment& segment, const FusionTraits& traits);

/// epilogues.cpp: a large product that only an elementwise step reads becomes one op::Epilogue with it.
Pass join_epilogues;
/// single_steps.cpp: a program of one operation becomes that operation, for which devices have kernels that are quicker.
Pass unwrap_single_steps;
/// streaming.cpp: marks the fused steps whose results have left the caches when somebody reads them: what an optimizer does
/// to a large model.
Pass mark_streaming;
/// conv_chains.cpp: a pointwise convolution and the depthwise one that alone reads its result become one op::ConvChain.
Pass chain_convs;
/// row_blocks.cpp: steps that take the same large tensors row by row, one after the other, become one op::RowBlocked.
Pass block_rows;
/// row_fusion.cpp: steps that fold the same rows, and those that go through these before, between and after, become one
/// op::RowFused.
Pass fuse_rows;
/// horizontal.cpp: small elementwise steps that are near each other and need nothing of each other become one
/// op::Horizontal.
Pass fuse_horizontally;

/// All of them, in the order in which they run.
inline constexpr Pass* kPasses[] = {join_epilogues, unwrap_single_steps, mark_streaming,   chain_convs,
                                    block_rows,     fuse_rows,           fuse_horizontally};

/// The steps that read each value, in order; a step that reads it twice stands there twice.
std::vector<std::vector<std::size_t>> readers_of(const Plan& plan, const Segment& segment);

}  // namespace kiln::fusion
