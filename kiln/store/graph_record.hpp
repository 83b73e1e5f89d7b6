// Captured programs as records: the tensors that they closed over, and beside those the program itself, as bytes.
#pragma once
#include "kiln/backend/capture/graph.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

namespace kiln {

/// "program", a tensor of bytes (docs/wire.md says of what), and "constant.0", "constant.1", ... as graph.constants() has
/// them. Throws ArgumentError where an operation of the program's own was not registered (kiln/tensor/custom_wire.hpp).
TensorFile record_of(const Graph& graph, const Metadata& metadata = {});

/// The graph, its tensors on `device`: see read_graph(). Throws DataError, LoadError, or an operation's own error for what
/// cannot have been captured; every sentence names `file`.
Graph graph_from_record(const TensorFileView& record, std::string_view file, const Device& device);

}  // namespace kiln
