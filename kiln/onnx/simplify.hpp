// Passes that make a graph smaller without changing what it gives in inference; one function each.
#pragma once
#include "kiln/onnx/call.hpp"

namespace kiln::onnx {

/// Nodes of constants alone become constants, unless they draw random numbers, have sub-graphs, or may make much of
/// little.
void fold_constants(Graph& graph, const RunContext& context);
/// Identity, and Dropout where it does nothing: who reads the result reads the operand.
void remove_identities(Graph& graph);
/// y = BatchNormalization(Conv(x)) with constant weights is a convolution with other weights.
void fold_batch_norms(Graph& graph, const RunContext& context);
/// Nodes whose results nobody reads.
void remove_unread(Graph& graph);

/// All of them. Sub-graphs stay as they are.
void simplify(Graph& graph, const RunContext& context);

}  // namespace kiln::onnx
