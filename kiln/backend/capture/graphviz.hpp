// Draws a captured program.
#pragma once
#include <string>
#include <vector>

#include "kiln/backend/capture/graph.hpp"

namespace kiln {

struct GraphvizOptions {
  std::vector<std::string> constants;  // names of graph.constants(); those without a name are "constant"
};

/// Returns the graph in Graphviz's language, for `dot -Tsvg`: a box for each operation with its attributes and results,
/// an ellipse for each input, output and captured tensor, an arrow for each use.
std::string graphviz(const Graph& graph, const GraphvizOptions& options = {});

}  // namespace kiln
