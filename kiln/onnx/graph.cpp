#include "kiln/onnx/graph.hpp"

#include "kiln/core/error/shown.hpp"

namespace kiln::onnx {

std::string_view domain_of(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

Attribute of_int(std::int64_t value) {
  Attribute made;
  made.type = AttributeProto::Type::Int;
  made.i = value;
  return made;
}
Attribute of_float(double value) {
  Attribute made;
  made.type = AttributeProto::Type::Float;
  made.f = static_cast<float>(value);
  return made;
}
Attribute of_ints(std::vector<std::int64_t> values) {
  Attribute made;
  made.type = AttributeProto::Type::Ints;
  made.ints = std::move(values);
  return made;
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
    for (const auto& [name, attribute] : node.attributes)
      for (const auto& inner : attribute.graphs)
        for (const auto& [from, to] : inner->captures) use(from, n);
  }
  for (const int output : graph.outputs)
    if (output != kAbsent) last[static_cast<std::size_t>(output)] = -1;
  for (std::size_t value = 0; value < last.size(); ++value)
    if (last[value] >= 0)
      graph.nodes[static_cast<std::size_t>(last[value])].last_uses.push_back(static_cast<int>(value));
}

}  // namespace kiln::onnx
