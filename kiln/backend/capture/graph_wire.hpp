// Graphs as bytes, without the tensors that they captured: their owner stores those separately
// (kiln/store/graph_file.hpp puts them into a file beside the program).
#pragma once
#include "kiln/backend/capture/graph.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln {

/// Throws ArgumentError where a user-defined operation is not registered (kiln/tensor/custom_wire.hpp).
void write_graph(wire::Writer& out, const Graph& graph);

/// A tensor that a graph captured. `order`: its dimensions from the largest stride to the smallest, where that is not
/// the order of the shape. Kernels choose by that order, and sum in another one.
struct GraphConstant {
  Desc desc;
  Dims order;
};

/// Reads a graph; `constant` returns the captured tensors by their number, each as described, on `device`. If that is
/// autodiff, constants through which gradients flowed are leaves that require them. Every operation is inferred again.
/// Throws DataError, or an operation's own error, with the reader's source in its sentence.
Graph read_graph(wire::Reader& in, const Device& device,
                 FunctionRef<Value(std::size_t, const GraphConstant&)> constant);

}  // namespace kiln
