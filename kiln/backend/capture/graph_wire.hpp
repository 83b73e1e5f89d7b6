// Graphs as bytes, without the tensors that they closed over: those travel as their owner likes (kiln/store/graph_file.hpp
// puts them into a file beside the program).
#pragma once
#include "kiln/backend/capture/graph.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln {

/// Throws ArgumentError where an operation of the program's own was not registered (kiln/tensor/custom_wire.hpp).
void write_graph(wire::Writer& out, const Graph& graph);

/// A tensor that a graph closed over. `order`: its dimensions, from those whose elements lie farthest apart in memory to
/// those that lie side by side, where that is not the order of the shape. Kernels choose by that, and sum in other orders.
struct GraphConstant {
  Desc desc;
  Dims order;
};

/// The graph with the tensors that `constant` gives by their number, each as described, on `device`. Where that is
/// autodiff, those through which gradients flowed are leaves that require them. Every operation is inferred again. Throws
/// DataError, or an operation's own error, with the reader's source in its sentence.
Graph read_graph(wire::Reader& in, const Device& device,
                 FunctionRef<Value(std::size_t, const GraphConstant&)> constant);

}  // namespace kiln
