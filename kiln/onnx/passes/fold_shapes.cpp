#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"
#include "kiln/onnx/passes/shapes.hpp"

namespace kiln::onnx {

void fold_shapes(Graph& graph, const RunContext& context) {
  const Shapes shapes = infer_shapes(graph);
  const std::size_t before = graph.nodes.size();
  std::erase_if(graph.nodes, [&](const Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] == kAbsent) return false;
    const int value = node.outputs[0];
    const auto found = shapes.numbers.find(value);
    if (found == shapes.numbers.end() || !shapes[value] || shapes[value]->size() > 1) return false;
    Ints numbers;
    for (const Dim& dim : found->second) {
      if (!dim.value) return false;
      numbers.push_back(*dim.value);
    }
    const Value list = from_ints(numbers, context.device);
    graph.constants[value] = Datum(shapes[value]->empty() ? reshape(list, {}) : list);
    return true;
  });
  if (graph.nodes.size() != before) fold_constants(graph, context);
}

}  // namespace kiln::onnx
