// A recorded function of one example as a function of many, which run together.
#pragma once
#include "kiln/backend/capture/graph.hpp"

namespace kiln {

/// Replays `graph` for each index of the inputs' dimension 0, and stacks the outputs along a new dimension 0:
/// batched_replay(g, xs)[i] is g.replay(xs[i]), but for the rounding of operations that add in another order. Each
/// operation of the graph runs once for all examples where a rule of batching.cpp says how (elementwise, reductions,
/// views, products, convolutions, indices); others run once for each, which KILN_LOG=vmap tells. Random operations draw
/// the same numbers for each example, as a replay does. Throws ArgumentError, ShapeError or DTypeError where the inputs
/// are not [examples, ...] of what the graph takes, or have different numbers of examples; ShapeError for a result of 8
/// dimensions, to which none can be added.
Values batched_replay(const Graph& graph, Inputs inputs);

}  // namespace kiln
