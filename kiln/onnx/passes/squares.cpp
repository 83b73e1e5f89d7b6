#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {

void find_squares(Graph& graph) {
  Patterns patterns(graph);
  for (Node& node : graph.nodes) {
    if (!node.row || !node.domain.empty() || node.op != "Pow" || node.inputs.size() != 2 || node.version < 7) continue;
    const Datum* const exponent = constant_of(graph, node.inputs[1]);
    // An exponent of another shape may have more to say of the result's than the base.
    if (exponent && exponent->is_tensor() && exponent->value().rank() == 0 && patterns.number(node.inputs[1]) == 2.0)
      patterns.become(node, "Mul", {node.inputs[0], node.inputs[0]}, {});
  }
  remove_unread(graph);
}

}  // namespace kiln::onnx
