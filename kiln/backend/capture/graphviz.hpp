// A captured program as a drawing.
#pragma once
#include <string>
#include <vector>

#include "kiln/backend/capture/graph.hpp"

namespace kiln {

struct GraphvizOptions {
  std::vector<std::string> constants;  // what graph.constants() are called; those without a name are "constant"
};

/// The graph in Graphviz's language, for `dot -Tsvg`: a box for each operation with its attributes and results, an ellipse
/// for each input, output and tensor that the function closed over, an arrow for each use.
std::string graphviz(const Graph& graph, const GraphvizOptions& options = {});

}  // namespace kiln
