// An order in which the nodes of a graph can run.
#pragma once
#include "kiln/core/function_ref.hpp"
#include "kiln/onnx/file.hpp"

namespace kiln::onnx {

/// The nodes as they stand where that is an order in which they can run, else each as soon as what it reads is made.
/// `is_there` says which names have a value before any node runs. Throws LoadError, whose sentence names `file` and
/// `graph`, where two nodes make one value, or nodes need each other's results.
std::vector<std::size_t> order_of(const std::vector<NodeProto>& nodes, FunctionRef<bool(std::string_view)> is_there,
                                  std::string_view graph, std::string_view file);

}  // namespace kiln::onnx
