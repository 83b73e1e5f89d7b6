#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {

void remove_identities(Graph& graph) {
  std::vector<Node> kept;
  std::vector<std::pair<int, int>> replaced;
  for (const Node& node : graph.nodes) {
    const bool training = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
    const bool drops = node.version < 7 && int_attribute(node, "is_test", 0) == 0;
    const bool nothing =
        node.domain.empty() && !node.function && !node.inputs.empty() && node.inputs[0] != kAbsent &&
        (node.op == "Identity" || (node.op == "Concat" && node.inputs.size() == 1) ||
         (node.op == "Dropout" && !training && !drops)) &&
        std::count_if(node.outputs.begin(), node.outputs.end(), [](int o) { return o != kAbsent; }) == 1 &&
        node.outputs[0] != kAbsent;
    if (nothing && !is_output(graph, node.outputs[0]) && !is_captured(graph, node.outputs[0])) {
      replaced.emplace_back(node.outputs[0], node.inputs[0]);
      continue;
    }
    kept.push_back(node);
  }
  graph.nodes = std::move(kept);
  // The order is that of the nodes, so that an operand's replacement is known before it is asked for.
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    replace_reads(graph, replaced[i].first, replaced[i].second);
    for (std::size_t j = i + 1; j < replaced.size(); ++j)
      if (replaced[j].second == replaced[i].first) replaced[j].second = replaced[i].second;
  }
}

}  // namespace kiln::onnx
