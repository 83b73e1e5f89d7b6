// A simplified graph as loops.
#pragma once
#include "kiln/backend/capture/graph.hpp"
#include "kiln/compile/program.hpp"

namespace kiln::compile {

/// The loops of a simplified graph, whose inputs from `inputs` on are the tensors `bound`. Throws ArgumentError with the
/// list of all ops that cannot be loops without a heap. With `tiles`, sums of products are made in tiles (tile.hpp),
/// which know from `halves` that constants will be kept as float16.
Program lowered(const Graph& graph, std::size_t inputs, const std::vector<Value>& bound, bool tiles = false,
                bool halves = false);

}  // namespace kiln::compile
