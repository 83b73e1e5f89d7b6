#include <algorithm>

#include "kiln/onnx/passes/rewrite.hpp"

namespace kiln::onnx {

void remove_unread(Graph& graph) {
  std::vector<bool> read(graph.values.size());
  const auto mark = [&](int value) {
    if (value != kAbsent) read[static_cast<std::size_t>(value)] = true;
  };
  for (const int output : graph.outputs) mark(output);
  std::vector<Node> kept;
  bool all =
      std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == "Gradient"; });
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
      return output != kAbsent && read[static_cast<std::size_t>(output)];
    });
    if (!wanted && !all) continue;
    for (const int input : node.inputs) mark(input);
    each_capture(node, [&](const Graph::Capture& capture) { mark(capture.outer); });
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  if (all) return;
  std::erase_if(graph.captures, [&](const auto& capture) { return !read[static_cast<std::size_t>(capture.inner)]; });
  std::erase_if(graph.constants, [&](const auto& entry) {
    return !read[static_cast<std::size_t>(entry.first)] &&
           !std::count(graph.replaceable.begin(), graph.replaceable.end(), entry.first);
  });
}

}  // namespace kiln::onnx
