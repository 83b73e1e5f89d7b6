// Captured graphs as records: the tensors that they closed over, and the program itself as bytes.
#pragma once
#include "kiln/backend/capture/graph.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

namespace kiln {

/// The record has "program", a tensor of bytes whose format docs/wire.md describes, and "constant.0", "constant.1",
/// ..., which are graph.constants(). Throws ArgumentError if a custom operation of the program was not registered
/// (kiln/tensor/custom_wire.hpp).
TensorFile record_of(const Graph& graph, const Metadata& metadata = {});

/// Returns the graph with its tensors on `device`; see read_graph(). Throws DataError, LoadError, or an operation's own
/// error for contents that no capture can have produced; every message names `file`.
Graph graph_from_record(const TensorFileView& record, std::string_view file, const Device& device);

}  // namespace kiln
