// A captured graph, written again in the few ops that loops are made of.
#pragma once
#include "kiln/backend/capture/graph.hpp"

namespace kiln::compile {

/// Whether a constant is of 8-bit integers that must not be computed with before the program runs.
bool is_kept(const Value& constant);

/// Composite ops become the ops of their expansions, and what depends on constants alone becomes a constant. Inputs from
/// `bound` on stand for these tensors, which are kept as they are: narrow integers that must not be computed with before
/// the program runs. Constants of 8-bit integers become such inputs too: they are appended to `bound`.
Graph simplified(const Graph& graph, std::vector<Value>& bound);

}  // namespace kiln::compile
