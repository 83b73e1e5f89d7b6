#include "kiln/onnx/graph.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"

namespace kiln::onnx {

std::string_view domain_of(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

bool any_node(const Graph& graph, FunctionRef<bool(const Node&)> holds) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    bool found = holds(node) || (node.function && any_node(*node.function, holds));
    each_graph(node, [&](const auto& inner) { found = found || any_node(*inner, holds); });
    return found;
  });
}

const Attribute* find_attribute(const Node& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : &found->second;
}
std::int64_t int_attribute(const Node& node, std::string_view name, std::int64_t otherwise) {
  const Attribute* const found = find_attribute(node, name);
  return found ? found->i : otherwise;
}
std::string string_attribute(const Node& node, std::string_view name, std::string_view otherwise) {
  const Attribute* const found = find_attribute(node, name);
  return found ? found->s : std::string(otherwise);
}

std::string described(const Node& node) {
  const std::string where = node.domain.empty() ? "" : text(shown(node.domain), ".");
  return text("node '", shown(node.name), "', operator ", where, shown(node.op));
}

int Graph::add_value(std::string value_name, TypeProto type) {
  values.push_back({std::move(value_name), std::move(type)});
  return static_cast<int>(values.size()) - 1;
}

void find_last_uses(Graph& graph) {
  std::vector<int> last(graph.values.size(), -1);
  const auto use = [&](int value, std::size_t node) {
    if (value != kAbsent) last[static_cast<std::size_t>(value)] = static_cast<int>(node);
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    node.last_uses.clear();
    if (node.op == "Gradient") {  // goes through the graph again
      for (Node& other : graph.nodes) other.last_uses.clear();
      return;
    }
    for (const int input : node.inputs) use(input, n);
    for (const int output : node.outputs) use(output, n);
    each_capture(node, [&](const Graph::Capture& capture) { use(capture.outer, n); });
  }
  for (const int output : graph.outputs)
    if (output != kAbsent) last[static_cast<std::size_t>(output)] = -1;
  for (std::size_t value = 0; value < last.size(); ++value)
    if (last[value] >= 0)
      graph.nodes[static_cast<std::size_t>(last[value])].last_uses.push_back(static_cast<int>(value));
}

}  // namespace kiln::onnx
